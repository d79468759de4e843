//! The members of a body, encoded once for all requests that have the same ones.

use super::DialectError;
use super::frame::Frame;
use bytes::Bytes;
use std::sync::{Arc, RwLock};

/// The members of a body and their encoding, around the items.
pub(super) struct EncodedFrame {
    pub(super) frame: Frame,
    pub(super) before: Vec<Bytes>,
    pub(super) after: Vec<Bytes>,
}

impl EncodedFrame {
    pub(super) fn new(frame: Frame) -> Result<Self, DialectError> {
        let (before, after) = frame.encode()?;
        Ok(Self { frame, before, after })
    }
}

/// The settings of a turn that its frame depends on, if the frame is steady.
#[derive(Clone, PartialEq)]
pub(super) struct FrameSettings {
    pub(super) model: Option<String>,
    pub(super) max_tokens: Option<u32>,
    pub(super) tools: Option<Bytes>,
}

/// A frame, and the settings in it.
#[derive(Clone)]
pub(super) struct SteadyFrame {
    settings: FrameSettings,
    frame: Arc<EncodedFrame>,
}

impl SteadyFrame {
    pub(super) fn new(settings: FrameSettings, frame: Arc<EncodedFrame>) -> Self {
        Self { settings, frame }
    }

    /// The frame, if it is that of these settings.
    pub(super) fn of(&self, settings: &FrameSettings) -> Option<&Arc<EncodedFrame>> {
        (self.settings == *settings).then_some(&self.frame)
    }
}

/// The last steady frame of an endpoint, which most sessions share. No thread waits for it.
#[derive(Default)]
pub(crate) struct LastFrame(RwLock<Option<SteadyFrame>>);

impl LastFrame {
    pub(super) fn of(&self, settings: &FrameSettings) -> Option<Arc<EncodedFrame>> {
        self.0.try_read().ok()?.as_ref()?.of(settings).cloned()
    }

    pub(super) fn set(&self, frame: SteadyFrame) {
        if let Ok(mut last) = self.0.try_write() {
            *last = Some(frame);
        }
    }
}
