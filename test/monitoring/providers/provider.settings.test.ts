import { describe, expect, test } from 'vitest';
import { SecretCipher } from '../../../src/auth/secret-cipher.ts';
import { InvalidRequest, type ValidationError } from '../../../src/errors.ts';
import type { Channel } from '../../../src/monitoring/channels/channel.ts';
import type { Channels } from '../../../src/monitoring/channels/registry.ts';
import {
  decryptSettings,
  type Fields,
  maskedSettings,
  newSettings,
  rejectFieldsOfOtherTypes,
  toStored,
  updateErrors,
} from '../../../src/monitoring/providers/provider.settings.ts';

const invalidRoom: ValidationError = { in: 'body', pointer: '/room', code: 'invalid_room', message: 'must not be "bad"' };
const unused = { name: 'Chat', receiver: 'Chat', audience: 'people', missingSetting: () => undefined, send: async () => {} } as const;

/** Rejects the room "bad" and the token "bad-token". */
const chat: Channel = {
  ...unused,
  fields: { room: 'plain', nickname: 'optional', token: 'secret' },
  check: (fields) => (fields.room === 'bad' || fields.token === 'bad-token' ? [invalidRoom] : []),
};
/** Has no check. */
const pager: Channel = { ...unused, fields: { number: 'plain', nickname: 'optional' } };
/** Rejects every update. */
const post: Channel = { ...unused, fields: { address: 'plain' }, check: (fields) => ('address' in fields ? [invalidRoom] : []) };
const silent = { ...unused, fields: {} };
const others = { discord: silent, teams: silent, pagerduty: silent, webhook: silent };
const channels: Channels = { slack: chat, sms: pager, email: post, telegram: { ...unused, fields: { address: 'plain' } }, ...others };

const cipher = new SecretCipher([Buffer.alloc(32, 1)]);
const owner = { userId: 3, id: 7 };
const stored = () => newSettings(chat, owner, { room: 'general', token: 'secret-1234' }, cipher);

/** Returns the errors with which a request is rejected, or 'accepted'. */
function errorsOf(action: () => unknown): ValidationError[] | 'accepted' {
  try {
    action();
    return 'accepted';
  } catch (error) {
    if (error instanceof InvalidRequest) return error.errors;
    throw error;
  }
}

describe('a new provider', () => {
  test('stores its fields, null for an optional field, and its secret encrypted', () => {
    const settings = stored();
    expect(settings).toStrictEqual({
      room: 'general',
      nickname: null,
      token: { encrypted: expect.stringMatching(/^v1\./), mask: '****1234' },
    });
    expect(JSON.stringify(settings)).not.toContain('secret');
  });

  test('stores an optional field that is sent', () => {
    expect(newSettings(chat, owner, { room: 'general', nickname: 'Bot', token: 'secret-1234' }, cipher)).toMatchObject({ nickname: 'Bot' });
  });

  test('is rejected with the errors of its type', () => {
    expect(errorsOf(() => newSettings(chat, owner, { room: 'bad', token: 'secret-1234' }, cipher))).toEqual([invalidRoom]);
    expect(errorsOf(() => newSettings(chat, owner, { room: 'general', token: 'bad-token' }, cipher))).toEqual([invalidRoom]);
  });

  test('stores the normal form of its fields, but the secret as it was sent', () => {
    const lowerCase: Channel = { ...chat, normalize: (fields) => ({ ...fields, room: String(fields.room).toLowerCase() }) };
    const settings = newSettings(lowerCase, owner, { room: 'General', token: 'Secret-1234' }, cipher);
    expect(decryptSettings(lowerCase, { ...owner, settings }, cipher)).toEqual({ room: 'general', nickname: null, token: 'Secret-1234' });
  });

  test('of a type without a check and without secrets is stored as it is', () => {
    expect(newSettings(pager, owner, { number: '+491234' }, cipher)).toEqual({ number: '+491234', nickname: null });
  });
});

describe('an update', () => {
  const update = (fields: Fields) => toStored(chat, { ...owner, settings: stored() }, fields, cipher);

  test('stores only what was sent', () => expect(update({ room: 'other' })).toStrictEqual({ room: 'other' }));

  test('with the mask of the stored secret keeps it', () => {
    expect(update({ room: 'other', token: '****1234' })).toStrictEqual({ room: 'other' });
  });

  test('with another secret replaces it', () => {
    expect(update({ token: 'secret-5678' })).toEqual({ token: { encrypted: expect.any(String), mask: '****5678' } });
  });

  test('with null instead of a secret does not encrypt it', () => {
    expect(update({ token: null })).toStrictEqual({ token: null });
  });

  test.each(['****5678', '********', '****a\ncd', '****🔔🔔🔔🔔'])('with the mask of another secret is rejected: %j', (token) => {
    const message = 'is a masked value, but not that of the stored one. Send the full value, or omit the field to keep the stored one';
    expect(errorsOf(() => update({ token }))).toEqual([{ in: 'body', pointer: '/token', code: 'unknown_mask', message }]);
  });

  test.each(['x****5678', '****56789', '****567', '***5678', '****', '***x5678'])(
    'with a secret that only resembles a mask stores it: %s',
    (token) => {
      const settings = update({ token });
      expect(decryptSettings(chat, { ...owner, settings }, cipher)).toEqual({ token });
    },
  );

  test('is checked without masks, because they are no secrets', () => {
    const strict: Channel = { ...chat, check: (fields) => (Object.keys(fields).join() === 'room' ? [] : [invalidRoom]) };
    const provider = { ...owner, settings: stored() };
    expect(errorsOf(() => toStored(strict, provider, { room: '****1234', token: '****1234' }, cipher))).toBe('accepted');
    expect(errorsOf(() => toStored(strict, provider, { room: 'general', token: 'secret' }, cipher))).toEqual([invalidRoom]);
  });
});

describe('stored settings', () => {
  test('are shown with every field of the type, and a mask instead of the secret', () => {
    expect(maskedSettings(chat, { ...stored(), dropped: 1 })).toStrictEqual({ room: 'general', nickname: null, token: '****1234' });
  });

  test('are shown without a secret that was never stored', () => {
    expect(maskedSettings(chat, { room: 'general' })).toStrictEqual({ room: 'general', nickname: undefined, token: undefined });
  });

  test('are used with their secret', () => {
    expect(decryptSettings(chat, { ...owner, settings: stored() }, cipher)).toStrictEqual({
      room: 'general',
      nickname: null,
      token: 'secret-1234',
    });
  });

  test.each([
    ['user', { ...owner, userId: 4 }],
    ['provider', { ...owner, id: 8 }],
  ])('cannot be used by another %s', (_, other) => {
    expect(() => decryptSettings(chat, { ...other, settings: stored() }, cipher)).toThrow();
  });

  test('bind a secret to its user, its row and its field, which stay the same in later versions', () => {
    const { encrypted } = stored().token as { encrypted: string };
    expect(cipher.decrypt(encrypted, { userId: 3, table: 'providers', row: 7, field: 'token' })).toBe('secret-1234');
  });
});

describe('fields of another type', () => {
  const reject = (fields: Fields) => errorsOf(() => rejectFieldsOfOtherTypes(channels, 'slack', fields));

  test('are rejected with the types that have them', () => {
    const error = { in: 'body', code: 'field_of_other_type' };
    expect(reject({ room: 'general', number: '+491234', address: 'a@example.com' })).toEqual([
      { ...error, pointer: '/number', message: 'is only allowed for provider_type sms' },
      { ...error, pointer: '/address', message: 'is only allowed for provider_type email or telegram' },
    ]);
  });

  test('do not include those that the type shares with another', () => {
    expect(reject({ room: 'general', nickname: 'Bot', token: 'secret' })).toBe('accepted');
  });
});

describe('an update of which the type is not known yet', () => {
  test.each<[string, Fields, ValidationError[]]>([
    ['is checked if only one type has its fields', { room: 'bad' }, [invalidRoom]],
    ['is checked without masks', { token: '****1234', room: 'general' }, []],
    ['is accepted if the check accepts it', { room: 'general' }, []],
    ['is accepted if the only type with its fields has no check', { number: '+491234' }, []],
    ['is not checked if several types have its fields', { address: 'a@example.com' }, []],
    ['is not checked if no type has all of its fields', { room: 'bad', number: '+491234' }, []],
    ['is not checked if one of its fields belongs to no type', { room: 'bad', unknown: 1 }, []],
    ['is not checked without fields', {}, []],
  ])('%s', (_, fields, errors) => {
    expect(updateErrors(channels, fields)).toEqual(errors);
  });
});
