___INFO___

{
  "type": "TAG",
  "id": "cvt_temp_public_id",
  "version": 1,
  "securityGroups": [],
  "displayName": "Headwater",
  "brand": {
    "id": "brand_dummy",
    "displayName": "Headwater"
  },
  "description": "Load the tracker of your own Headwater, and report visitors, events and consent to it. Follows Consent Mode.",
  "containerContexts": [
    "WEB"
  ],
  "categories": [
    "ANALYTICS",
    "ATTRIBUTION",
    "CONVERSIONS"
  ]
}


___TEMPLATE_PARAMETERS___

[
  {
    "type": "SELECT",
    "name": "action",
    "displayName": "Tag type",
    "simpleValueType": true,
    "macrosInSelect": false,
    "defaultValue": "load",
    "selectItems": [
      {
        "value": "load",
        "displayValue": "Load the tracker"
      },
      {
        "value": "identify",
        "displayValue": "Identify the visitor"
      },
      {
        "value": "track",
        "displayValue": "Report an event"
      },
      {
        "value": "consent",
        "displayValue": "Pass on consent"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "address",
    "displayName": "Address",
    "simpleValueType": true,
    "alwaysInSummary": true,
    "valueHint": "https://hw.shop.example",
    "help": "Where your Headwater runs, without a path. A host on your own domain keeps its cookie first-party.",
    "valueValidators": [
      {
        "type": "NON_EMPTY"
      },
      {
        "type": "REGEX",
        "args": [
          "https://[^/?#]+"
        ],
        "errorMessage": "Enter https:// and a host, without a path."
      }
    ],
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "load",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "script",
    "displayName": "Tracker path",
    "simpleValueType": true,
    "defaultValue": "/t.js",
    "valueValidators": [
      {
        "type": "REGEX",
        "args": [
          "/[A-Za-z0-9_./-]+"
        ]
      }
    ],
    "help": "Change it only if HEADWATER_TRACKER_SCRIPT or a proxy moves the script.",
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "load",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "site",
    "displayName": "Site key",
    "simpleValueType": true,
    "valueValidators": [
      {
        "type": "NON_EMPTY"
      },
      {
        "type": "REGEX",
        "args": [
          "trk_pk_[A-Za-z0-9_-]+"
        ]
      }
    ],
    "valueHint": "trk_pk_…",
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "load",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "SELECT",
    "name": "consent_source",
    "displayName": "Consent",
    "simpleValueType": true,
    "macrosInSelect": false,
    "defaultValue": "consent_mode",
    "help": "Consent Mode: wait until analytics_storage is granted. A type that your site never sets counts as granted.",
    "selectItems": [
      {
        "value": "consent_mode",
        "displayValue": "Follow Consent Mode"
      },
      {
        "value": "tag",
        "displayValue": "Wait for a tag that passes on consent"
      },
      {
        "value": "none",
        "displayValue": "Do not wait for consent"
      }
    ],
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "load",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "email",
    "displayName": "Email address",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "identify",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "tracking_id",
    "displayName": "Your customer id",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "identify",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "phone",
    "displayName": "Phone number",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "identify",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "first_name",
    "displayName": "First name",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "identify",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "last_name",
    "displayName": "Last name",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "identify",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "SELECT",
    "name": "event_name",
    "displayName": "Event",
    "simpleValueType": true,
    "macrosInSelect": true,
    "defaultValue": "purchase",
    "selectItems": [
      {
        "value": "add_payment_info",
        "displayValue": "add_payment_info"
      },
      {
        "value": "add_to_cart",
        "displayValue": "add_to_cart"
      },
      {
        "value": "complete_registration",
        "displayValue": "complete_registration"
      },
      {
        "value": "contact",
        "displayValue": "contact"
      },
      {
        "value": "initiate_checkout",
        "displayValue": "initiate_checkout"
      },
      {
        "value": "lead_generated",
        "displayValue": "lead_generated"
      },
      {
        "value": "purchase",
        "displayValue": "purchase"
      },
      {
        "value": "schedule",
        "displayValue": "schedule"
      },
      {
        "value": "sign_up",
        "displayValue": "sign_up"
      },
      {
        "value": "start_trial",
        "displayValue": "start_trial"
      },
      {
        "value": "submit_application",
        "displayValue": "submit_application"
      },
      {
        "value": "subscribe",
        "displayValue": "subscribe"
      },
      {
        "value": "upsell_purchase",
        "displayValue": "upsell_purchase"
      },
      {
        "value": "view_content",
        "displayValue": "view_content"
      },
      {
        "value": "webinar_registration",
        "displayValue": "webinar_registration"
      },
      {
        "value": "custom_event_1",
        "displayValue": "custom_event_1"
      },
      {
        "value": "custom_event_2",
        "displayValue": "custom_event_2"
      },
      {
        "value": "custom_event_3",
        "displayValue": "custom_event_3"
      },
      {
        "value": "custom_event_4",
        "displayValue": "custom_event_4"
      },
      {
        "value": "custom_event_5",
        "displayValue": "custom_event_5"
      },
      {
        "value": "custom_event_6",
        "displayValue": "custom_event_6"
      },
      {
        "value": "custom_event_7",
        "displayValue": "custom_event_7"
      },
      {
        "value": "custom_event_8",
        "displayValue": "custom_event_8"
      },
      {
        "value": "custom_event_9",
        "displayValue": "custom_event_9"
      },
      {
        "value": "custom_event_10",
        "displayValue": "custom_event_10"
      },
      {
        "value": "custom_event_11",
        "displayValue": "custom_event_11"
      },
      {
        "value": "custom_event_12",
        "displayValue": "custom_event_12"
      },
      {
        "value": "custom_event_13",
        "displayValue": "custom_event_13"
      },
      {
        "value": "custom_event_14",
        "displayValue": "custom_event_14"
      },
      {
        "value": "custom_event_15",
        "displayValue": "custom_event_15"
      },
      {
        "value": "custom_event_16",
        "displayValue": "custom_event_16"
      },
      {
        "value": "custom_event_17",
        "displayValue": "custom_event_17"
      },
      {
        "value": "custom_event_18",
        "displayValue": "custom_event_18"
      },
      {
        "value": "custom_event_19",
        "displayValue": "custom_event_19"
      },
      {
        "value": "custom_event_20",
        "displayValue": "custom_event_20"
      },
      {
        "value": "custom_event_21",
        "displayValue": "custom_event_21"
      },
      {
        "value": "custom_event_22",
        "displayValue": "custom_event_22"
      },
      {
        "value": "custom_event_23",
        "displayValue": "custom_event_23"
      },
      {
        "value": "custom_event_24",
        "displayValue": "custom_event_24"
      },
      {
        "value": "custom_event_25",
        "displayValue": "custom_event_25"
      },
      {
        "value": "custom_event_26",
        "displayValue": "custom_event_26"
      },
      {
        "value": "custom_event_27",
        "displayValue": "custom_event_27"
      },
      {
        "value": "custom_event_28",
        "displayValue": "custom_event_28"
      },
      {
        "value": "custom_event_29",
        "displayValue": "custom_event_29"
      },
      {
        "value": "custom_event_30",
        "displayValue": "custom_event_30"
      },
      {
        "value": "custom_event_31",
        "displayValue": "custom_event_31"
      },
      {
        "value": "custom_event_32",
        "displayValue": "custom_event_32"
      },
      {
        "value": "custom_event_33",
        "displayValue": "custom_event_33"
      },
      {
        "value": "custom_event_34",
        "displayValue": "custom_event_34"
      },
      {
        "value": "custom_event_35",
        "displayValue": "custom_event_35"
      },
      {
        "value": "custom_event_36",
        "displayValue": "custom_event_36"
      },
      {
        "value": "custom_event_37",
        "displayValue": "custom_event_37"
      },
      {
        "value": "custom_event_38",
        "displayValue": "custom_event_38"
      },
      {
        "value": "custom_event_39",
        "displayValue": "custom_event_39"
      },
      {
        "value": "custom_event_40",
        "displayValue": "custom_event_40"
      },
      {
        "value": "custom_event_41",
        "displayValue": "custom_event_41"
      },
      {
        "value": "custom_event_42",
        "displayValue": "custom_event_42"
      },
      {
        "value": "custom_event_43",
        "displayValue": "custom_event_43"
      },
      {
        "value": "custom_event_44",
        "displayValue": "custom_event_44"
      },
      {
        "value": "custom_event_45",
        "displayValue": "custom_event_45"
      },
      {
        "value": "custom_event_46",
        "displayValue": "custom_event_46"
      },
      {
        "value": "custom_event_47",
        "displayValue": "custom_event_47"
      },
      {
        "value": "custom_event_48",
        "displayValue": "custom_event_48"
      },
      {
        "value": "custom_event_49",
        "displayValue": "custom_event_49"
      },
      {
        "value": "custom_event_50",
        "displayValue": "custom_event_50"
      }
    ],
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "track",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "order_id",
    "displayName": "Order id",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "track",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "amount",
    "displayName": "Amount",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "track",
        "type": "EQUALS"
      }
    ],
    "help": "A number with a decimal point. Anything else is left out."
  },
  {
    "type": "TEXT",
    "name": "currency",
    "displayName": "Currency",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "track",
        "type": "EQUALS"
      }
    ],
    "valueHint": "EUR"
  },
  {
    "type": "SELECT",
    "name": "analytics",
    "displayName": "Analytics",
    "simpleValueType": true,
    "macrosInSelect": true,
    "defaultValue": "granted",
    "selectItems": [
      {
        "value": "granted",
        "displayValue": "granted"
      },
      {
        "value": "denied",
        "displayValue": "denied"
      }
    ],
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "consent",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "SELECT",
    "name": "ads",
    "displayName": "Ad platforms",
    "simpleValueType": true,
    "macrosInSelect": true,
    "defaultValue": "unknown",
    "selectItems": [
      {
        "value": "unknown",
        "displayValue": "unknown"
      },
      {
        "value": "granted",
        "displayValue": "granted"
      },
      {
        "value": "denied",
        "displayValue": "denied"
      }
    ],
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "consent",
        "type": "EQUALS"
      }
    ]
  }
]


___SANDBOXED_JS_FOR_WEB_TEMPLATE___

// SPDX-License-Identifier: Apache-2.0
// Calls wait in trk.q until the tracker has loaded, so tags can fire in any order.
const addConsentListener = require('addConsentListener');
const callInWindow = require('callInWindow');
const callLater = require('callLater');
const encodeUriComponent = require('encodeUriComponent');
const injectScript = require('injectScript');
const isConsentGranted = require('isConsentGranted');
const makeNumber = require('makeNumber');
const makeString = require('makeString');
const setInWindow = require('setInWindow');

const CONSENT_TYPES = ['analytics_storage', 'ad_user_data', 'ad_personalization'];
const CONSENT_PARAMETERS = { consent_mode: '&consent=managed', tag: '&consent=required', none: '' };

const call = (name, values) => callInWindow('trk.q.push', [name, values]);

const filled = (names) => {
  const found = {};
  names.forEach((name) => {
    if (data[name] || data[name] === 0) found[name] = makeString(data[name]);
  });
  return found;
};

const choice = () => {
  if (data.analytics !== 'granted') return false;
  if (data.ads !== 'granted' && data.ads !== 'denied') return true;
  const isGranted = data.ads === 'granted';
  return { ad_user_data: isGranted, ad_personalization: isGranted };
};

const event = () => {
  const fields = filled(['order_id', 'currency']);
  // Omit invalid numbers, such as ones with a comma; the event still counts.
  const amount = makeNumber(data.amount);
  if (filled(['amount']).amount && amount === amount) fields.amount = amount;
  return fields;
};

// Most sites deny everything until the visitor answers, also on the pages of visitors who accepted
// before. So only a withdrawal is passed on as a refusal, which deletes the visitor's token.
const followConsentMode = () => {
  let wasGranted = false;
  const passOn = () => {
    const isGranted = isConsentGranted('analytics_storage');
    if (isGranted) {
      call('consent', [{
        ad_user_data: isConsentGranted('ad_user_data'),
        ad_personalization: isConsentGranted('ad_personalization')
      }]);
    } else if (wasGranted) {
      call('consent', [false]);
    }
    wasGranted = isGranted;
  };
  // One update changes several types, one after another: read them when all have changed.
  CONSENT_TYPES.forEach((type) => addConsentListener(type, () => callLater(passOn)));
  passOn();
};

const load = () => {
  if (data.consent_source === 'consent_mode') followConsentMode();
  const site = '?site=' + encodeUriComponent(data.site);
  const url = data.address + data.script + site + CONSENT_PARAMETERS[data.consent_source];
  injectScript(url, data.gtmOnSuccess, data.gtmOnFailure, url);
};

setInWindow('trk', { q: [] }, false);
if (data.action === 'load') {
  load();
} else {
  if (data.action === 'identify') {
    call('identify', [filled(['email', 'tracking_id', 'phone', 'first_name', 'last_name'])]);
  }
  if (data.action === 'track') call('track', [data.event_name, event()]);
  if (data.action === 'consent') call('consent', [choice()]);
  data.gtmOnSuccess();
}


___WEB_PERMISSIONS___

[
  {
    "instance": {
      "key": {
        "publicId": "access_globals",
        "versionId": "1"
      },
      "param": [
        {
          "key": "keys",
          "value": {
            "type": 2,
            "listItem": [
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "trk"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "trk.q.push"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              }
            ]
          }
        }
      ]
    },
    "clientAnnotations": {
      "isEditedByUser": true
    },
    "isRequired": true
  },
  {
    "instance": {
      "key": {
        "publicId": "inject_script",
        "versionId": "1"
      },
      "param": [
        {
          "key": "urls",
          "value": {
            "type": 2,
            "listItem": [
              {
                "type": 1,
                "string": "https://*/*"
              }
            ]
          }
        }
      ]
    },
    "clientAnnotations": {
      "isEditedByUser": true
    },
    "isRequired": true
  },
  {
    "instance": {
      "key": {
        "publicId": "access_consent",
        "versionId": "1"
      },
      "param": [
        {
          "key": "consentTypes",
          "value": {
            "type": 2,
            "listItem": [
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "consentType"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "analytics_storage"
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "consentType"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "ad_user_data"
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "consentType"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "ad_personalization"
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  }
                ]
              }
            ]
          }
        }
      ]
    },
    "clientAnnotations": {
      "isEditedByUser": true
    },
    "isRequired": true
  }
]


___TESTS___

scenarios:
- name: The tracker loads with its site key and waits for a consent tag
  code: |-
    runCode(load('tag'));
    assertThat(urls).isEqualTo(['https://hw.shop.example/t.js?site=trk_pk_x&consent=required']);
    assertThat(calls).isEqualTo([]);
    assertApi('addConsentListener').wasNotCalled();
    assertApi('gtmOnSuccess').wasCalled();
- name: A script that does not load is a failure
  code: |-
    mock('injectScript', (url, success, failure) => failure());
    runCode(load('none'));
    assertApi('gtmOnSuccess').wasNotCalled();
    assertApi('gtmOnFailure').wasCalled();
- name: A tag that does not wait ignores Consent Mode
  code: |-
    runCode(load('none'));
    assertThat(urls).isEqualTo(['https://hw.shop.example/t.js?site=trk_pk_x']);
    assertApi('isConsentGranted').wasNotCalled();
- name: Consent that is denied leaves the tracker waiting
  code: |-
    runCode(load('consent_mode'));
    assertThat(urls).isEqualTo(['https://hw.shop.example/t.js?site=trk_pk_x&consent=managed']);
    assertThat(calls).isEqualTo([]);
    assertApi('gtmOnSuccess').wasCalled();
- name: Consent given before is passed on at once
  code: |-
    granted = { analytics_storage: true, ad_personalization: true };
    runCode(load('consent_mode'));
    assertThat(calls).isEqualTo([
      ['consent', [{ ad_user_data: false, ad_personalization: true }]]
    ]);
- name: Consent given later is passed on when all types have changed
  code: |-
    runCode(load('consent_mode'));
    update({ analytics_storage: true, ad_user_data: true, ad_personalization: true });
    assertThat(calls[calls.length - 1]).isEqualTo(
      ['consent', [{ ad_user_data: true, ad_personalization: true }]]
    );
- name: Consent to advertising alone is not passed on
  code: |-
    runCode(load('consent_mode'));
    update({ ad_user_data: true, ad_personalization: true });
    assertThat(calls).isEqualTo([]);
- name: Consent withdrawn is passed on as a refusal
  code: |-
    granted = { analytics_storage: true };
    runCode(load('consent_mode'));
    update({});
    assertThat(calls[calls.length - 1]).isEqualTo(['consent', [false]]);
- name: Other tags queue their call and load nothing
  code: |-
    runCode({ action: 'track', event_name: 'purchase', order_id: 17, amount: '1.5', currency: 'EUR' });
    runCode({ action: 'track', event_name: 'purchase', amount: '1,5' });
    runCode({ action: 'identify', email: 'ada@example.com', phone: '' });
    runCode({ action: 'consent', analytics: 'granted', ads: 'denied' });
    runCode({ action: 'consent', analytics: 'granted', ads: 'unknown' });
    runCode({ action: 'consent', analytics: 'denied', ads: 'granted' });
    assertThat(calls).isEqualTo([
      ['track', ['purchase', { order_id: '17', currency: 'EUR', amount: 1.5 }]],
      ['track', ['purchase', {}]],
      ['identify', [{ email: 'ada@example.com' }]],
      ['consent', [{ ad_user_data: false, ad_personalization: false }]],
      ['consent', [true]],
      ['consent', [false]]
    ]);
    assertApi('injectScript').wasNotCalled();
    assertApi('gtmOnSuccess').wasCalled();
setup: |-
  const urls = [];
  const calls = [];
  const listeners = {};
  let granted = {};

  mock('setInWindow', true);
  mock('callInWindow', (path, value) => { calls.push(value); });
  mock('injectScript', (url, success) => { urls.push(url); success(); });
  mock('isConsentGranted', (type) => granted[type] === true);
  mock('addConsentListener', (type, listener) => { listeners[type] = listener; });
  mock('callLater', (action) => action());

  const load = (source) => ({
    action: 'load',
    address: 'https://hw.shop.example',
    script: '/t.js',
    site: 'trk_pk_x',
    consent_source: source
  });

  const update = (state) => {
    const before = granted;
    granted = state;
    ['analytics_storage', 'ad_user_data', 'ad_personalization'].forEach((type) => {
      if ((before[type] === true) !== (state[type] === true)) listeners[type](type, state[type] === true);
    });
  };


___NOTES___

The permission to inject scripts covers every host, because each owner runs Headwater on a host of
their own. Narrow it to yours under Permissions if you like.
