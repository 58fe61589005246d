import type { Tone } from '../messages/message-content.ts';

/** The colors beside messages in chats. */
export const colors: Record<Tone, string> = { down: '#d1372a', up: '#0f766e', warning: '#b26a0b', neutral: '#6f7d83' };
