-- Run this once as a superuser, before the service first starts or before a restore, with two new passwords in the environment:
--   DB_OWNER_PASSWORD=… DB_PASSWORD=… psql -f deploy/create-database.sql
-- sitekeeper_owner owns the database and runs migrations. The service logs in as sitekeeper, which owns nothing, and then
-- switches to sitekeeper_app or sitekeeper_engine. sitekeeper_auth owns the auth_* functions.
\set ON_ERROR_STOP on
\getenv owner_password DB_OWNER_PASSWORD
\getenv password DB_PASSWORD
create role sitekeeper_owner login createrole password :'owner_password';
create role sitekeeper login noinherit password :'password';
create role sitekeeper_app nologin noinherit;
create role sitekeeper_engine nologin noinherit;
create role sitekeeper_auth nologin noinherit;
-- The owner must be able to grant these roles. PostgreSQL 16 and newer require the admin option for that; PostgreSQL 15
-- requires createrole.
grant sitekeeper_app, sitekeeper_engine, sitekeeper_auth to sitekeeper_owner with admin option;
create database sitekeeper owner sitekeeper_owner;
