import { type EntitySchema, type InferEntity, UnderscoreNamingStrategy } from '@mikro-orm/core';
import type { InferEntityProperties, InferKyselyDB } from '@mikro-orm/sql';
import type { InsertQueryBuilder, Kysely, SelectQueryBuilder, UpdateQueryBuilder } from 'kysely';
import { compiler } from './statement.ts';

// Statements are built with Kysely and typed by the MikroORM entities: a misspelled table or column does not compile. Nothing
// here reaches a database. `prepare` compiles a statement, and a Query runs it.

/** Any entity that defineEntity returns. */
// biome-ignore lint/suspicious/noExplicitAny: the types of the entity's properties do not matter here.
export type AnyEntity = EntitySchema<any> & { name: string };

/** The tables of these entities, as the type parameter of Kysely. */
export type Tables<Entity extends AnyEntity> = InferKyselyDB<Entity, { tableNamingStrategy: 'table'; columnNamingStrategy: 'column' }>;
export type TableOf<Entity extends AnyEntity> = keyof Tables<Entity> & string;

/** A row of an entity without its lazy properties: what the functions below return. */
export type RowOf<Entity extends AnyEntity> = Pick<InferEntity<Entity>, keyof InferEntity<Entity> & EagerProperty<Entity>>;
type EagerProperty<Entity extends AnyEntity> = {
  [Name in keyof InferEntityProperties<Entity>]: InferEntityProperties<Entity>[Name] extends { '~options': { lazy: true } } ? never : Name;
}[keyof InferEntityProperties<Entity>];

/** Builds statements that involve these entities: `tables<typeof MonitorEntity | typeof IncidentEntity>()`. */
export function tables<Entity extends AnyEntity>(): Kysely<Tables<Entity>> {
  return compiler as never;
}

/** Selects an entity's rows. Lazy properties are left out. */
export function selectFrom<Entity extends AnyEntity>(entity: Entity): SelectQueryBuilder<Tables<Entity>, TableOf<Entity>, RowOf<Entity>> {
  return compiler.selectFrom(entity.tableName as never).select(columnsOf(entity) as never) as never;
}

/** Inserts a row and returns it. */
export function insertInto<Entity extends AnyEntity>(entity: Entity): InsertQueryBuilder<Tables<Entity>, TableOf<Entity>, RowOf<Entity>> {
  return compiler.insertInto(entity.tableName as never).returning(columnsOf(entity) as never) as never;
}

/** Updates rows and returns them. */
export function updateTable<Entity extends AnyEntity>(
  entity: Entity,
): UpdateQueryBuilder<Tables<Entity>, TableOf<Entity>, TableOf<Entity>, RowOf<Entity>> {
  return compiler.updateTable(entity.tableName as never).returning(columnsOf(entity) as never) as never;
}

/** Returns the columns of an entity, each with the name of its property as alias, without those of lazy properties. */
export function columnsOf(entity: AnyEntity, except: string[] = []): string[] {
  return Object.entries(entity.meta.properties as Record<string, { lazy?: boolean }>)
    .filter(([property, { lazy }]) => !lazy && !except.includes(property))
    .map(([property]) => `${columnName(property)} as ${property}`);
}

export function isNullable(entity: AnyEntity, property: string): boolean {
  return (entity.meta.properties as Record<string, { nullable?: boolean }>)[property]?.nullable ?? false;
}

const naming = new UnderscoreNamingStrategy();

/** The same naming strategy as MikroORM's. */
export function columnName(property: string): string {
  return naming.propertyToColumnName(property);
}
