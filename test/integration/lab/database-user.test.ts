import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { databaseUser, requireReachable } from '../../../lab/servers/database-user.ts'

test.runIf(process.getuid?.() === 0)(
  'a lab folder that the unprivileged database user cannot enter is refused with the ways out',
  async () => {
    const closed = await mkdtemp(path.join(tmpdir(), 'closed-')) // mkdtemp makes it 0700
    const labDir = path.join(closed, 'lab')
    await mkdir(labDir)
    try {
      const user = databaseUser()
      expect(() => requireReachable(user, labDir, 'the lab folder')).toThrow(/chmod o\+x .*LAB_DIR=/s)
      await chmod(closed, 0o711)
      requireReachable(user, labDir, 'the lab folder')
    } finally {
      await rm(closed, { recursive: true })
    }
  },
)
