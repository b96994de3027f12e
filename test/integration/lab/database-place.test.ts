import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { databasePlace, removeLab } from '../../../lab/servers/database-place.ts'
import { databaseUser } from '../../../lab/servers/database-user.ts'
import { run } from '../../../lab/servers/run.ts'

test.runIf(process.getuid?.() === 0)(
  'a lab of root’s where PostgreSQL’s user cannot get keeps its databases where that user can',
  async () => {
    const user = databaseUser()
    if (!user) throw new Error('root has a database user')
    const labDir = await mkdtemp(path.join(tmpdir(), 'closed-')) // 0700
    const enter = (directory: string) => run('test', ['-x', directory], { cwd: '/', env: {}, user })
    try {
      const outside = databasePlace(labDir, user)
      expect(outside.startsWith(labDir)).toBe(false)
      await enter(outside)
      removeLab(labDir)
      await expect(enter(outside)).rejects.toThrow()

      await mkdir(labDir, { mode: 0o755 })
      expect(databasePlace(labDir, user)).toBe(path.join(labDir, 'data'))
    } finally {
      removeLab(labDir)
    }
  },
)

test('without root the databases are in the lab’s folder', async () => {
  const labDir = await mkdtemp(path.join(tmpdir(), 'lab-'))
  expect(databasePlace(labDir, undefined)).toBe(path.join(labDir, 'data'))
  removeLab(labDir)
})
