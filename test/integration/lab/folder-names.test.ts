import { expect, test } from 'vitest'
import { refusedFolder } from '../../../lab/paths.ts'
import { propertiesText } from '../../../lab/servers/properties.ts'

test('properties for Java are ASCII, whatever a folder is called', () => {
  expect(propertiesText({ 'log.dirs': '/tmp/é 日𝄞\\x', 'node.id': 1 })).toBe(
    'log.dirs=/tmp/\\u00e9 \\u65e5\\ud834\\udd1e\\\\x\nnode.id=1\n',
  )
})

test('a folder that Kafka would read as two, or the registry as an option, is refused with the reason', () => {
  expect(refusedFolder('/tmp/a,b')).toContain('LAB_DIR (/tmp/a,b) holds a ","')
  expect(refusedFolder('/tmp/a;b')).toContain('";"')
  expect(refusedFolder('/tmp/é b')).toBeUndefined()
})
