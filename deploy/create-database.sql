-- Run once by a superuser, with both passwords in the environment:
--   DB_OWNER_PASSWORD=… DB_PASSWORD=… psql -f deploy/create-database.sql
-- sitekeeper_owner migrates; sitekeeper is whom the service logs in as, and owns nothing.
\set ON_ERROR_STOP on
\getenv owner_password DB_OWNER_PASSWORD
\getenv password DB_PASSWORD
create role sitekeeper_owner login createrole password :'owner_password';
create role sitekeeper login noinherit password :'password';
create database sitekeeper owner sitekeeper_owner;
