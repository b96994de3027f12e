import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import avsc from 'avsc'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WIRE } from '../../../core/envelope-decoder.ts'
import { EnvelopeEncoder } from '../../../core/envelope-encoder.ts'
import { SHIPPED_SCHEMA } from '../../../core/event-schema.ts'
import { problemsOf, releaseStateOf } from '../../../schemas/compatibility.ts'
import { readReleases } from '../../../schemas/releases.ts'

type Field = { name: string; type: unknown; doc?: string; default?: unknown }
const released = fileURLToPath(new URL('../../../schemas/released', import.meta.url))
const { releases, problems } = readReleases(released)

/** The shipped schema after a change to its fields. */
function changed(edit: (fields: Field[]) => Field[] | undefined): string {
  const schema = JSON.parse(SHIPPED_SCHEMA)
  schema.fields = edit(schema.fields) ?? schema.fields
  return JSON.stringify(schema)
}
const withField = (field: Field) => changed((fields) => [...fields, field])
const summary = { name: 'summary', type: ['null', 'string'], default: null, doc: 'Short text for lists.' }

const event = {
  eventId: '9f6ad5a5-7c5e-4dd4-b0ea-2a3b5a3e1d11',
  eventType: 'NoteRevised' as const,
  noteId: 'n-1',
  revision: 1,
  title: 'Title',
  url: null,
  type: 'article',
  body: 'Body',
  visibility: 'public' as const,
  occurredAt: 1_796_075_918_642,
}

describe('the working schema', () => {
  it('reads everything ever written, has documentation on every field, and its releases are intact', () => {
    expect(problems).toEqual([])
    expect(problemsOf(SHIPPED_SCHEMA, releases)).toEqual([])
  })

  it('is a release, or a change whose number is the next one', () => {
    expect(releaseStateOf(SHIPPED_SCHEMA, releases)).toEqual({
      state: 'released',
      file: `note-revision.v${releases.length}.avsc`,
    })
    expect(releaseStateOf(withField(summary), releases)).toEqual({
      state: 'unreleased',
      next: releases.length + 1,
    })
  })
})

describe('a schema change', () => {
  it('passes when it adds an optional field with a default', () => {
    expect(problemsOf(withField(summary), releases)).toEqual([])
  })

  it.each([
    ['adds a field without a default', withField({ name: 'x', type: 'string', doc: 'x' }), /x/],
    [
      'adds a field without documentation',
      withField({ name: 'x', type: 'int', default: 0 }),
      /no documentation/,
    ],
    [
      'gives a field another type',
      changed((fields) => fields.map((f) => (f.name === 'revision' ? { ...f, type: 'string' } : f))),
      /could not be read/,
    ],
    [
      'gives a timestamp another unit, which no resolver sees',
      changed((fields) =>
        fields.map((f) =>
          f.name === 'occurredAt' ? { ...f, type: { type: 'long', logicalType: 'timestamp-micros' } } : f,
        ),
      ),
      /occurredAt means timestamp-millis/,
    ],
    [
      'removes a value of an enum that has no default to fall back to',
      changed((fields) =>
        fields.map((f) =>
          f.name === 'visibility'
            ? { ...f, type: { type: 'enum', name: 'Visibility', symbols: ['public'] } }
            : f,
        ),
      ),
      /could not be read/,
    ],
    [
      'adds a list, with which a few bytes can claim millions of items',
      withField({ name: 'tags', type: { type: 'array', items: 'string' }, default: [], doc: 'Tags.' }),
      /array or a map/,
    ],
    ['is no schema', '{"type": "nonsense"}', /not an Avro schema/],
  ])('is refused when it %s', (_what, schema, reason) => {
    expect(problemsOf(schema, releases).join('\n')).toMatch(reason)
  })

  it('must be compatible with every release, not only with the newest', () => {
    const v2 = changed((fields) => fields.filter((field) => field.name !== 'type'))
    const both = [...releases, { file: 'note-revision.v2.avsc', schema: v2 }]
    const typeIsNowANumber = changed((fields) =>
      fields.map((f) => (f.name === 'type' ? { ...f, type: 'int', default: 0 } : f)),
    )
    expect(problemsOf(typeIsNowANumber, both).join()).toMatch(/note-revision\.v1\.avsc could not be read/)
  })

  it('is refused when it goes back to an older release', () => {
    const both = [...releases, { file: 'note-revision.v2.avsc', schema: withField(summary) }]
    expect(problemsOf(SHIPPED_SCHEMA, both).join()).toMatch(/is note-revision\.v1\.avsc again/)
  })
})

describe('readers and writers of different versions', () => {
  const newSchema = avsc.Type.forSchema(JSON.parse(withField(summary)))
  const oldSchema = avsc.Type.forSchema(JSON.parse(SHIPPED_SCHEMA))

  it('an old reader reads what a new writer wrote', () => {
    const bytes = newSchema.toBuffer({ ...event, summary: 'Short' })
    expect({ ...oldSchema.fromBuffer(bytes, oldSchema.createResolver(newSchema)) }).toEqual(event)
  })

  it('a new reader reads what an old writer wrote, and sees the default', async () => {
    const bytes = (await new EnvelopeEncoder(7).encode(event)).subarray(WIRE.headerBytes)
    expect({ ...newSchema.fromBuffer(bytes, newSchema.createResolver(oldSchema)) }).toEqual({
      ...event,
      summary: null,
    })
  })
})

describe('the releases folder', () => {
  function copyOfReleases(): string {
    const folder = mkdtempSync(path.join(tmpdir(), 'releases-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    cpSync(released, folder, { recursive: true })
    return folder
  }

  it('notices that a released file was changed', () => {
    const folder = copyOfReleases()
    const file = path.join(folder, 'note-revision.v1.avsc')
    writeFileSync(file, readFileSync(file, 'utf8').replace('"int"', '"long"'))
    expect(readReleases(folder).problems.join()).toMatch(/v1\.avsc is not what was released/)
  })

  it('notices a released file that is gone and a number that was left out', () => {
    const folder = copyOfReleases()
    cpSync(path.join(folder, 'note-revision.v1.avsc'), path.join(folder, 'note-revision.v3.avsc'))
    rmSync(path.join(folder, 'note-revision.v1.avsc'))
    const found = readReleases(folder).problems.join('\n')
    expect(found).toMatch(/v1\.avsc was released and is gone/)
    expect(found).toMatch(/Version 1 is missing/)
  })
})
