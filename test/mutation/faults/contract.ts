import { type Fault, faultsIn } from '../fault.ts';

const password = (minLength: number, description: string) =>
  `"minLength": ${minLength},
            "maxLength": 128,
            "pattern": "^[^\\\\u0000]*$",
            "x-pattern-message": "must not contain NUL characters",
            "description": "${description}`;
/** The items of a list of tags. */
const tags = (maxLength: number, type = '"type": "string",\n              ') =>
  `"items": {
              ${type}"maxLength": ${maxLength},
              "pattern": "^[a-z0-9][a-z0-9_-]{0,${maxLength - 1}}$"`;
const bulkTags = '"description": "The tags to add or to remove.",\n            ';
const updatedTags =
  '"uniqueItems": true,\n            "x-origin": "extension",\n            "description": "Labels that group monitors. Each has up to 32 lower-case letters, digits, `_` and `-`, and starts with a letter or a digit.",\n            ';
const optionalHeaders = ['test/contract/every-operation.test.ts > can be absent'];

/** The service reads what is generated from openapi/. That both agree is a test of its own. */
export const contractFaults: Fault[] = [
  ...faultsIn({ file: 'openapi/shared/parameters.yaml', tests: ['test/contract/generated.test.ts'], needs: 'embedded' }, [
    {
      title: 'what is generated has a limit that the contract does not have',
      find: '  schema: { type: integer, format: int64, minimum: 1, maximum: 9007199254740991 }\n  example: 7',
      replace: '  schema: { type: integer, format: int64, minimum: 1 }\n  example: 7',
    },
  ]),
  ...faultsIn({ file: 'generated/monitoring.json', tests: ['test/monitoring/monitors/create-monitor.test.ts'] }, [
    {
      title: 'the contract has no longest interval',
      find: '"minimum": 30,\n            "maximum": 86400,\n            "default": 60,',
      replace: '"minimum": 30,\n            "default": 60,',
    },
    {
      title: 'the contract allows unknown fields of a monitor',
      find: '"additionalProperties": false,\n        "description": "The settings of a new monitor."',
      replace: '"description": "The settings of a new monitor."',
    },
    {
      title: 'the contract allows a new password of one character',
      find: password(8, 'The new password'),
      replace: password(1, 'The new password'),
      tests: ['test/accounts/change-password.test.ts'],
    },
    {
      title: 'the contract allows a user whose password has one character',
      find: password(8, 'The password, 8'),
      replace: password(1, 'The password, 8'),
      tests: ['test/accounts/create-user.test.ts'],
    },
    {
      title: 'the contract allows a key without scopes',
      find: '"minItems": 1,\n            "maxItems": 6,\n            "uniqueItems": true,\n            "description": "The scopes of the key: at least one',
      replace: '"maxItems": 6,\n            "uniqueItems": true,\n            "description": "The scopes of the key: at least one',
      tests: ['test/accounts/create-key.test.ts'],
    },
    {
      title: 'the contract does not require the name of a key',
      find: '"description": "The settings of a new API key.",\n        "required": [\n          "name",',
      replace: '"description": "The settings of a new API key.",\n        "required": [',
      tests: ['test/accounts/create-key.test.ts'],
    },
    {
      title: 'the contract allows pages of any size',
      find: '"description": "The maximum number of resources per page.",\n        "schema": {\n          "type": "integer",\n          "format": "int32",\n          "minimum": 1,\n          "maximum": 100,',
      replace:
        '"description": "The maximum number of resources per page.",\n        "schema": {\n          "type": "integer",\n          "format": "int32",\n          "minimum": 1,',
      tests: ['test/monitoring/notifications/list-notifications.test.ts'],
    },
    {
      title: 'the contract does not require the ETag of lists',
      find: 'to get 304 if the response would be the same.",\n        "required": true,',
      replace: 'to get 304 if the response would be the same.",\n        "required": false,',
      tests: optionalHeaders,
    },
    {
      title: 'the contract does not require WWW-Authenticate',
      find: '"description": "The authentication scheme that is accepted.",\n        "required": true,',
      replace: '"description": "The authentication scheme that is accepted.",\n        "required": false,',
      tests: optionalHeaders,
    },
  ]),
  ...faultsIn({ file: 'generated/monitoring.json', tests: ['test/monitoring/monitors/bulk.test.ts > a rejected request'] }, [
    {
      title: 'the contract allows a provider of a bulk change that is no number',
      find: '"type": "integer",\n            "format": "int64",\n            "minimum": 1,\n            "maximum": 9007199254740991,\n            "description": "The provider to assign or to remove."',
      replace: '"minimum": 1,\n            "maximum": 9007199254740991,\n            "description": "The provider to assign or to remove."',
    },
    {
      title: 'the contract allows tags of a bulk change that are null',
      find: '"tags": {\n            "type": "array",\n            "minItems": 1,',
      replace: '"tags": {\n            "minItems": 1,',
    },
    {
      title: 'the contract allows a tag of a bulk change that is a number',
      find: bulkTags + tags(32),
      replace: bulkTags + tags(32, ''),
    },
    {
      title: 'the contract allows repeated tags of a bulk change',
      find: `"uniqueItems": true,\n            ${bulkTags}`,
      replace: bulkTags,
    },
    { title: 'the contract allows a tag of a bulk change of 33 characters', find: bulkTags + tags(32), replace: bulkTags + tags(33) },
    {
      title: 'the contract allows a bulk change until a number',
      find: '"type": "string",\n            "format": "date-time",\n            "maxLength": 40,\n            "description": "When the maintenance ends. It must be in the future."',
      replace: '"description": "When the maintenance ends. It must be in the future."',
      tests: ['test/monitoring/monitors/bulk.test.ts > "until":4102444740000'],
    },
    {
      title: 'the contract allows a bulk change until a time of any length',
      find: '"maxLength": 40,\n            "description": "When the maintenance ends. It must be in the future."',
      replace: '"description": "When the maintenance ends. It must be in the future."',
    },
    {
      title: 'the contract allows an update with a tag of 33 characters',
      find: updatedTags + tags(32),
      replace: updatedTags + tags(33),
      tests: ['test/monitoring/monitors/tags.test.ts'],
    },
  ]),
  ...faultsIn({ file: 'generated/websites.json', tests: ['test/websites/delete-website.test.ts'] }, [
    {
      title: 'the contract lets a key that can only read delete a website',
      find: '"description": "Deletes the website and its settings. This cannot be undone. The domain can be registered again immediately.",\n        "tags": [\n          "Websites"\n        ],\n        "x-required-scopes": [\n          "websites:write"',
      replace:
        '"description": "Deletes the website and its settings. This cannot be undone. The domain can be registered again immediately.",\n        "tags": [\n          "Websites"\n        ],\n        "x-required-scopes": [\n          "websites:read"',
    },
    {
      title: 'the contract allows ids that a number cannot represent',
      find: '"maximum": 9007199254740991\n        },\n        "example": 7',
      replace: '"maximum": 99007199254740991000\n        },\n        "example": 7',
      tests: ['test/http/invalid-requests.test.ts'],
    },
    {
      title: 'the contract allows unknown fields of a website',
      find: '"additionalProperties": false,\n        "description": "The settings of a new website."',
      replace: '"description": "The settings of a new website."',
      tests: ['test/websites/create-website.test.ts'],
    },
  ]),
];
