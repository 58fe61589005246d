-- Run once by a superuser, before the first start or before a restore, with two new passwords in the environment:
--   DB_OWNER_PASSWORD=… DB_PASSWORD=… psql -f deploy/create-database.sql
-- sitekeeper_owner migrates. sitekeeper is whom the service logs in as; it owns nothing. The other roles are those that it
-- works as.
\set ON_ERROR_STOP on
\getenv owner_password DB_OWNER_PASSWORD
\getenv password DB_PASSWORD
create role sitekeeper_owner login createrole password :'owner_password';
create role sitekeeper login noinherit password :'password';
create role sitekeeper_app nologin noinherit;
create role sitekeeper_engine nologin noinherit;
create role sitekeeper_door nologin noinherit;
-- PostgreSQL 16 and newer let only whom it is granted to hand a role on; 15 asks for createrole.
grant sitekeeper_app, sitekeeper_engine, sitekeeper_door to sitekeeper_owner with admin option;
create database sitekeeper owner sitekeeper_owner;
