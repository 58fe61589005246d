import { type Fault, faultsIn } from '../fault.ts';

const password = (minLength: number, description: string) =>
  `"minLength": ${minLength},
            "maxLength": 128,
            "pattern": "^[^\\\\u0000]*$",
            "x-pattern-message": "must not contain NUL characters",
            "description": "${description}`;
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
