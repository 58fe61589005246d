// Preloaded into the service: prints, on SIGUSR2, how often it has used the embedded database.
import { PGlite } from '@electric-sql/pglite';

let transactions = 0;
for (const method of ['transaction', 'query']) {
  const original = PGlite.prototype[method];
  PGlite.prototype[method] = function (...args) {
    transactions++;
    return original.apply(this, args);
  };
}
process.on('SIGUSR2', () => console.log(`transactions ${transactions};`));
