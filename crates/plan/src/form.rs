//! A plan outside of the process: with or without its secrets.
//!
//! One rule: a plan that is *sent to another machine* contains every secret, because the requests of that machine need
//! them; a plan that is *written for people* contains none. [`Plan::to_machine`] does the former and
//! [`Plan::for_people`] the latter. Nothing else writes a plan. Serde alone writes all of it, like the former.
//!
//! One table lists the values that are secrets (`secret_places`): the API key, secret headers, credentials and
//! secret parameters of every URL, secret extra inputs, those of templates and variables, headers and secret attributes
//! of OTLP. A new place is a row there.

use crate::Plan;
use crate::secret_places::{SECRET_PLACES, hide_secrets};
use aiperf_types::{BinaryForm, FormError};
use serde_json::Value;

const FORM: BinaryForm = BinaryForm { name: "aiperf plan", version: 1 };

/// The places of a plan that contain secrets, by name.
pub fn secret_places() -> impl Iterator<Item = &'static str> {
    SECRET_PLACES.iter().map(|place| place.name)
}

impl Plan {
    /// The plan for another machine, **with every secret**: for encrypted connections only.
    pub fn to_machine(&self) -> Result<Vec<u8>, FormError> {
        FORM.write(&self.value()?)
    }

    /// A plan from another machine.
    pub fn from_machine(bytes: &[u8]) -> Result<Self, FormError> {
        let value: Value = FORM.read(bytes)?;
        serde_json::from_value(value).map_err(|error| FormError::Unreadable(error.to_string()))
    }

    /// The plan for people: no secret in its place, nor as a part of any other text.
    pub fn for_people(&self) -> Result<Value, FormError> {
        let mut shown = self.clone();
        hide_secrets(&mut shown);
        let mut value = shown.value()?;
        self.redactor().settings(&mut value);
        Ok(value)
    }

    /// Both forms go through one value: a plan has hundreds of types, and each way to write them costs build time.
    fn value(&self) -> Result<Value, FormError> {
        serde_json::to_value(self).map_err(|error| FormError::Unwritable(error.to_string()))
    }
}
