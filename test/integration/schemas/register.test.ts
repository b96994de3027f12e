import { describe, expect, it } from 'vitest'
import { SHIPPED_SCHEMA } from '../../../core/event-schema.ts'
import { RegistryClient } from '../../../core/registry.ts'
import { COMPATIBILITY_LEVEL, registerSchemas, SchemaRegistrationFailed } from '../../../schemas/register.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'

const lab = useLab()
const { registryUrl } = lab.addresses
const registry = new RegistryClient(registryUrl)

const withField = (field: object): string => {
  const schema = JSON.parse(SHIPPED_SCHEMA)
  schema.fields.push(field)
  return JSON.stringify(schema)
}
const scratchSubject = () => `${uniqueNoteId('subject')}-value`

describe('registering the event schema', () => {
  it('sets the compatibility rule of the subject and, a second time, changes nothing', async () => {
    const subject = scratchSubject()
    const first = await registerSchemas({ registryUrl, subject })
    expect(first.status).toBe('registered')
    expect(await registry.compatibilityOf(subject)).toEqual({ found: true, value: COMPATIBILITY_LEVEL })
    expect(await registerSchemas({ registryUrl, subject })).toEqual({
      status: 'unchanged',
      schemaId: first.schemaId,
    })
  })

  it('takes an optional field with a default, which is then another id', async () => {
    const subject = scratchSubject()
    const { schemaId } = await registerSchemas({ registryUrl, subject })
    const schema = withField({ name: 'summary', type: ['null', 'string'], default: null, doc: 'Short text.' })
    const second = await registerSchemas({ registryUrl, subject, schema })
    expect(second.status).toBe('registered')
    expect(second.schemaId).not.toBe(schemaId)
  })

  it('is refused by the registry itself for a field without a default, and the subject stays as it was', async () => {
    const subject = scratchSubject()
    await registerSchemas({ registryUrl, subject })
    const schema = withField({ name: 'summary', type: 'string', doc: 'Short text.' })
    const refused = registerSchemas({ registryUrl, subject, schema })
    await expect(refused).rejects.toThrow(SchemaRegistrationFailed)
    await expect(refused).rejects.toThrow(/needs a default/)
    expect((await registry.idOf(subject, schema)).found).toBe(false)
  })

  it('repairs a subject whose rule was taken away before it registers anything', async () => {
    const subject = scratchSubject()
    await registerSchemas({ registryUrl, subject })
    await registry.setCompatibility(subject, 'NONE')
    const schema = withField({ name: 'summary', type: 'string', doc: 'Short text.' })
    await expect(registerSchemas({ registryUrl, subject, schema })).rejects.toThrow(SchemaRegistrationFailed)
  })
})

describe('the subject of the lab', () => {
  it('has the shipped schema under the rule', async () => {
    const subject = 'notes.revisions-value'
    expect((await registry.idOf(subject, SHIPPED_SCHEMA)).found).toBe(true)
    expect(await registry.compatibilityOf(subject)).toEqual({ found: true, value: COMPATIBILITY_LEVEL })
  })
})
