import { createKafka } from '../../../core/kafka/client.ts'
import { createLogger } from '../../../core/log.ts'
import { NAMES } from '../../../lab/layout.ts'
import type { Lab } from '../../support/lab-interface.ts'
import type { Parts } from '../stage/parts.ts'
import { insist } from './patience.ts'

const GROUPS = { catalog: 'notes-catalog-1', audit: 'notes-audit' } as const

/**
 * Moves what a group has committed back by up to `records` in each partition, as a person with Kafka's tools
 * would: the tools demand that nobody is in the group, so both projectors are stopped and started again.
 */
export async function moveOffsetsBack(
  lab: Lab,
  parts: Parts,
  consumer: keyof typeof GROUPS,
  records: number,
): Promise<void> {
  const projectors = ['projector', 'projector-2'] as const
  await Promise.all(projectors.map((part) => parts.stop(part).catch(() => undefined)))
  try {
    await insist(`move the offsets of ${consumer} back`, () => setBack(lab, GROUPS[consumer], records))
  } finally {
    await Promise.all(projectors.map((part) => parts.start(part)))
  }
}

async function setBack(lab: Lab, groupId: string, records: number): Promise<void> {
  const kafka = createKafka({
    brokers: lab.addresses.kafkaBrokers.split(','),
    clientId: 'fault-run',
    logger: createLogger('fault-run', 'silent'),
    retries: 1,
  })
  const admin = kafka.admin()
  await admin.connect()
  try {
    const [committed] = await admin.fetchOffsets({ groupId, topics: [NAMES.topic] })
    const partitions = (committed?.partitions ?? [])
      .filter(({ offset }) => Number(offset) > 0)
      .map(({ partition, offset }) => ({ partition, offset: String(Math.max(0, Number(offset) - records)) }))
    if (partitions.length > 0) await admin.setOffsets({ groupId, topic: NAMES.topic, partitions })
  } finally {
    await admin.disconnect()
  }
}
