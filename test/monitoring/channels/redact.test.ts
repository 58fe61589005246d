import { expect, test } from 'vitest';
import { quoteSafely } from '../../../src/monitoring/channels/redact.ts';

test('returns one line without control characters and without the final full stop', () => {
  expect(quoteSafely(' a\r\n\tb\u0000c\u202ed. ', [])).toBe('a b c d');
});

test('truncates a long text', () => {
  expect(quoteSafely('x'.repeat(300), [])).toBe(`${'x'.repeat(199)}…`);
});

test('redacts before truncating, so that no part of a secret remains', () => {
  expect(quoteSafely(`${'x'.repeat(190)} secret-secret-secret`, ['secret-secret-secret'])).toBe(`${'x'.repeat(190)} ****`);
});

test('drops HTML pages', () => {
  expect(quoteSafely('\n<!DOCTYPE html><h1>Oops</h1>', [])).toBe('');
});
