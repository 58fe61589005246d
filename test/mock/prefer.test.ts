import { describe, expect, test } from 'vitest';
import { InvalidRequest } from '../../src/errors.ts';
import { readPrefer } from '../../src/mock/prefer.ts';

const examples = new Map([
  [200, ['one', 'none', 'two words']],
  [404, ['missing']],
  [503, []],
]);

describe('a preference is read', () => {
  test.each([
    ['without any', '', { dynamic: false }],
    ['as a status', 'code=404', { code: 404, dynamic: false }],
    ['as an example of the default status', 'example=none', { example: 'none', dynamic: false }],
    ['as an example of another status', 'code=404, example=missing', { code: 404, example: 'missing', dynamic: false }],
    ['as an example with a space, in quotes', 'example="two words"', { example: 'two words', dynamic: false }],
    ['as dynamic', 'dynamic=true', { dynamic: true }],
    ['as not dynamic', 'dynamic=false', { dynamic: false }],
    ['as a seed', 'dynamic=true, seed=a-1', { dynamic: true, seed: 'a-1' }],
    ['as an empty seed', 'seed=""', { dynamic: false, seed: '' }],
    ['with a comma in quotes', 'seed="1,code=404"', { dynamic: false, seed: '1,code=404' }],
    ['separated by semicolons without spaces', 'code=404;dynamic=true;seed=7', { code: 404, dynamic: true, seed: '7' }],
    ['with spaces around each part', '  code  =  404  ,  seed  =  "7"  ', { code: 404, dynamic: false, seed: '7' }],
    ['in upper case', 'CODE=404, Dynamic=true', { code: 404, dynamic: true }],
    ['after a preference that is unknown', 'respond-async, code=404', { code: 404, dynamic: false }],
  ])('%s: %s', (_, header, preferences) => {
    expect(readPrefer(header, examples, 200)).toStrictEqual(preferences);
  });
});

describe('something else is ignored', () => {
  test.each([
    ['a preference that is unknown', 'wait=10, return=minimal'],
    ['a name that ends like one', 'mycode=404'],
    ['a name after a space', 'my code=404'],
    ['a name without a value', 'dynamic'],
    ['a value without a name', '=404'],
  ])('%s: %s', (_, header) => {
    expect(readPrefer(header, examples, 200)).toEqual({ dynamic: false });
  });
});

describe('a preference that cannot be met is rejected', () => {
  test.each([
    ['a status that the operation does not have', 'code=418', 'code must be one of 200, 404, 503'],
    ['a status that is not a number', 'code=missing', 'code must be one of 200, 404, 503'],
    ['an empty status', 'code=', 'code must be one of 200, 404, 503'],
    [
      'an example of another status',
      'example=missing',
      'asks for example=missing, but the response 200 has the examples one, none, two words',
    ],
    ['an unknown example of a status', 'code=404, example=one', 'asks for example=one, but the response 404 has the examples missing'],
    ['an example of a status without any', 'code=503, example=one', 'asks for example=one, but the response 503 has no examples'],
    ['an empty example', 'code=404, example=""', 'asks for example=, but the response 404 has the examples missing'],
    ['another value of dynamic', 'dynamic=yes', 'dynamic must be true or false'],
    ['an empty value of dynamic', 'dynamic=', 'dynamic must be true or false'],
  ])('%s: %s', (_, header, message) => {
    const errors = [{ in: 'header' as const, name: 'Prefer', code: 'unknown_preference', message }];
    expect(() => readPrefer(header, examples, 200)).toThrow(new InvalidRequest(errors));
    expect(() => readPrefer(header, examples, 200)).toThrow(expect.objectContaining({ errors }));
  });
});
