import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { held } from '../../../services/console/rebuild/switch.ts'

const failing = (code: string) => () =>
  Promise.reject(Object.assign(new pg.DatabaseError('canceling', 0, 'error'), { code }))

describe('a switch that may not hold any longer', () => {
  it.each([
    ['55P03', 'A batch of the projector holds'],
    ['25P04', 'took longer than both generations may be held'],
    ['57014', 'took longer than both generations may be held'],
  ])('is refused, not a failure of ours: %s', async (code, detail) => {
    await expect(held(failing(code))).rejects.toMatchObject({
      code: 'action-refused',
      message: expect.stringContaining(detail),
    })
  })

  it('does not hide what nobody expected', async () => {
    await expect(held(failing('23505'))).rejects.toMatchObject({ code: '23505' })
  })
})
