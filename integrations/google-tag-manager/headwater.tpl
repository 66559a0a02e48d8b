___INFO___

{
  "type": "TAG",
  "id": "cvt_temp_public_id",
  "version": 1,
  "securityGroups": [],
  "displayName": "Headwater",
  "brand": {
    "id": "brand_dummy",
    "displayName": ""
  },
  "description": "Loads the tracker of your Headwater, and reports visitors, events and consent to it.",
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
    "type": "TEXT",
    "name": "address",
    "displayName": "Address of your Headwater",
    "simpleValueType": true,
    "defaultValue": "https://hw.shop.example",
    "valueValidators": [
      {
        "type": "NON_EMPTY"
      },
      {
        "type": "REGEX",
        "args": [
          "https://[^/]+"
        ]
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "script",
    "displayName": "Path of the tracker",
    "simpleValueType": true,
    "defaultValue": "/t.js",
    "valueValidators": [
      {
        "type": "REGEX",
        "args": [
          "/[A-Za-z0-9_./-]+"
        ]
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
        "type": "REGEX",
        "args": [
          "trk_pk_[A-Za-z0-9_-]+"
        ]
      }
    ]
  },
  {
    "type": "CHECKBOX",
    "name": "waits",
    "checkboxText": "Report nothing before the visitor consents",
    "simpleValueType": true,
    "defaultValue": true
  },
  {
    "type": "SELECT",
    "name": "action",
    "displayName": "Action of this tag",
    "simpleValueType": true,
    "macrosInSelect": false,
    "defaultValue": "load",
    "selectItems": [
      {
        "value": "load",
        "displayValue": "Loads the tracker, which reports page views"
      },
      {
        "value": "identify",
        "displayValue": "Identifies the visitor"
      },
      {
        "value": "track",
        "displayValue": "Reports an event"
      },
      {
        "value": "consent",
        "displayValue": "Passes on the visitor's consent"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "email",
    "displayName": "E-mail address",
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
    "displayName": "Your id for the customer",
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
    ]
  },
  {
    "type": "TEXT",
    "name": "currency",
    "displayName": "Currency, three letters",
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
    "type": "SELECT",
    "name": "analytics",
    "displayName": "Counting visits",
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
    "displayName": "Forwarding to ad platforms",
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

// Calls wait in trk.q until the tracker is loaded, so the order of tags doesn't matter. The script is
// loaded once.
const callInWindow = require('callInWindow');
const encodeUriComponent = require('encodeUriComponent');
const injectScript = require('injectScript');
const makeNumber = require('makeNumber');
const makeString = require('makeString');
const setInWindow = require('setInWindow');

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

setInWindow('trk', { q: [] }, false);
if (data.action === 'identify') {
  call('identify', [filled(['email', 'tracking_id', 'phone', 'first_name', 'last_name'])]);
}
if (data.action === 'track') call('track', [data.event_name, event()]);
if (data.action === 'consent') call('consent', [choice()]);

const consent = data.waits ? '&consent=required' : '';
const url = data.address + data.script + '?site=' + encodeUriComponent(data.site) + consent;
injectScript(url, data.gtmOnSuccess, data.gtmOnFailure, url);


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
                "string": "https://hw.shop.example/*"
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
- name: It loads the tracker with its site
  code: |-
    mock('injectScript', (url, success) => success());
    runCode({ address: 'https://hw.shop.example', script: '/t.js', site: 'trk_pk_x', waits: true, action: 'load' });
    assertApi('injectScript').wasCalled();
    assertApi('gtmOnSuccess').wasCalled();


___NOTES___

Replace hw.shop.example by the host of your Headwater everywhere in this file before importing it:
Tag Manager lets a template load scripts from the addresses that it names only.
