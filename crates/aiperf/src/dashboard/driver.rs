//! Events and keys in, frames out.

use super::bounds::bounded;
use super::canvas::Canvas;
use super::draw;
use super::keys::Effect;
use super::model::Model;
use super::pane_id::PaneId;
use super::picture;
use super::theme::{Colours, Theme};
use super::threads::Threads;
use crate::screen::{Printer, Screen};
use crate::terminal;
use aiperf_campaign::{Interest, Subscription};
use aiperf_plan::RuntimePlan;
use aiperf_report::{LogLine, LogLines};
use aiperf_types::{LogLevel, Nanos, RunEvent};
use base64::Engine;
use crossterm::event::{self, Event, KeyEventKind};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// Minimum time between two frames.
const SHORTEST_FRAME: Duration = Duration::from_millis(100);
/// How often the use of threads is read, and the longest wait without an event.
const LOOK: Duration = Duration::from_secs(1);
/// How long the thread that reads keys takes to notice that the canvas is closed.
const KEYS_WAIT: Duration = Duration::from_millis(100);
/// Time between two snapshots of the metrics: one per column of a sparkline.
const SNAPSHOTS: Nanos = Nanos(1_000_000_000);
/// Capacity of the channel of inputs. More events wait in the subscription, which keeps only the latest snapshot.
const MOST_INPUTS: usize = 1024;
/// Inputs that are handled before the next frame, so that frames go on however many inputs come.
const MOST_AT_ONCE: usize = 256;
/// Warnings and errors that are printed again when the dashboard is closed.
const MOST_REPEATED: usize = 10;

/// The events of a dashboard. Snapshots come more often than the table changes.
pub(crate) fn interest(runtime: &RuntimePlan) -> Interest {
    Interest { progress: true, metrics_every: Some(tables(runtime).min(SNAPSHOTS)), ..Interest::default() }
}

/// Time between two tables; by default every snapshot makes one.
fn tables(runtime: &RuntimePlan) -> Nanos {
    runtime.stats_interval.unwrap_or(SNAPSHOTS)
}

/// Time between two frames: the shorter interval of the log and the spinner, because each frame draws the whole screen.
fn frame(runtime: &RuntimePlan) -> Duration {
    let eager = runtime.dashboard.log_refresh.min(runtime.dashboard.spinner_refresh);
    Duration::from_nanos(eager.0).clamp(SHORTEST_FRAME, LOOK)
}

enum Input {
    Event(Box<RunEvent>),
    Terminal(Event),
    /// The campaign is over.
    Over,
}

/// A run on a canvas.
pub(crate) struct Dashboard {
    canvas: Canvas,
    model: Model,
    theme: Theme,
    lines: LogLines,
    printer: Printer,
    threads: Threads,
    started: Instant,
    /// Time between two frames.
    frame: Duration,
    /// Warnings and errors that only the dashboard has shown.
    warnings: VecDeque<LogLine>,
}

impl Dashboard {
    /// Shows the events of a campaign until it is over; as lines after the canvas is closed.
    pub(crate) fn start(canvas: Canvas, lines: LogLines, runtime: &RuntimePlan, events: Subscription) -> Screen {
        let (inputs, taken) = mpsc::sync_channel(MOST_INPUTS);
        let mut dashboard = Self {
            model: Model::new(tables(runtime), canvas.size())
                .opening_with(runtime.dashboard.opens_gpus.then_some(PaneId::Gpu)),
            frame: frame(runtime),
            theme: Theme::new(Colours::of(terminal::variable)),
            canvas,
            lines,
            printer: Printer::new(),
            threads: Threads::default(),
            started: Instant::now(),
            warnings: VecDeque::new(),
        };
        forward_keys(dashboard.canvas.clone(), inputs.clone());
        if forward_events(events, inputs).is_err() {
            // There will be no events: the run goes on without a screen, and the terminal is restored.
            dashboard.canvas.close();
        }
        Screen::showing(move || dashboard.run(&taken))
    }

    fn run(&mut self, inputs: &Receiver<Input>) {
        let (mut drawn, mut looked) = (None::<Instant>, None::<Instant>);
        let passed = |at: Option<Instant>| at.map_or(Duration::MAX, |at| at.elapsed());
        loop {
            let wait = match self.canvas.is_open() {
                true if self.is_stale() => self.frame.saturating_sub(passed(drawn)),
                true => LOOK,
                // The process may be continued at any moment.
                false => self.frame,
            };
            let mut next = match inputs.recv_timeout(wait) {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Input::Over),
            };
            self.model.at(Nanos(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)));
            let mut more = MOST_AT_ONCE;
            while let Some(input) = next {
                more -= 1;
                match input {
                    Input::Event(event) => self.event(&event),
                    Input::Terminal(event) => self.terminal(event),
                    Input::Over => {
                        self.canvas.close();
                        return self.print_warnings();
                    }
                }
                next = if more > 0 { inputs.try_recv().ok() } else { None };
            }
            if self.canvas.is_closed() {
                self.print_warnings();
                // No frame is visible any more.
                self.model.is_stale = false;
                continue;
            }
            if passed(looked) >= LOOK {
                looked = Some(Instant::now());
                let (threads, memory) = self.threads.look();
                self.model.threads(threads, memory);
            }
            if self.is_stale() && passed(drawn) >= self.frame && self.canvas.is_open() {
                drawn = Some(Instant::now());
                self.model.is_stale = false;
                let Self { canvas, model, theme, .. } = self;
                canvas.draw(|area, buffer| {
                    model.view.size = (area.width, area.height);
                    draw::screen(model, area, buffer, theme);
                });
            }
        }
    }

    /// Whether the screen is out of date.
    fn is_stale(&self) -> bool {
        self.model.is_stale || self.canvas.is_spoilt()
    }

    fn event(&mut self, event: &RunEvent) {
        for line in self.lines.lines(event) {
            if self.canvas.is_closed() {
                self.print_warnings();
                self.printer.print(&line);
                continue;
            }
            self.model.log(&line);
            if matches!(line.level, LogLevel::Warning | LogLevel::Error | LogLevel::Critical) {
                self.warnings.push_back(line);
                if self.warnings.len() > MOST_REPEATED {
                    self.warnings.pop_front();
                }
            }
        }
        self.model.take(event);
    }

    /// Prints the latest warnings and errors on the screen that stays.
    fn print_warnings(&mut self) {
        self.warnings.drain(..).for_each(|line| self.printer.print(&line));
    }

    fn terminal(&mut self, event: Event) {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                let effect = self.model.press(key);
                self.act(effect);
            }
            Event::Mouse(mouse) => self.model.mouse(mouse),
            Event::Resize(columns, rows) => self.model.resize(bounded((columns, rows))),
            Event::FocusGained => self.model.is_stale = true,
            _ => {}
        }
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::None => {}
            Effect::Repaint => self.canvas.spoil(),
            // Sends the signals that the terminal would have sent for these keys. Their handlers do the rest.
            Effect::Interrupt => {
                let _ = kill(Pid::this(), Signal::SIGINT);
            }
            Effect::Suspend => {
                let _ = kill(Pid::from_raw(0), Signal::SIGTSTP);
            }
            Effect::Copy { text, is_all } => {
                let message = copied(&text, is_all);
                let encoded = base64::prelude::BASE64_STANDARD.encode(&text);
                self.canvas.write_sequence(&format!("\x1b]52;c;{encoded}\x07"));
                self.model.toast(message);
            }
            Effect::Picture => {
                let message = self.picture();
                self.model.toast(message);
            }
        }
    }

    /// Writes the screen to a file in the run's directory; returns its path or an error, as a message.
    fn picture(&self) -> String {
        let Some(run) = &self.model.run else {
            return "There is no directory for a screenshot yet".to_owned();
        };
        let (columns, rows) = self.model.view.size;
        let area = Rect::new(0, 0, columns, rows);
        let mut buffer = Buffer::empty(area);
        draw::screen(&self.model, area, &mut buffer, &Theme::new(Colours::True));
        let millis = self.started.elapsed().as_millis();
        let path = run.directory.join(format!("dashboard_{millis:07}.svg"));
        match std::fs::write(&path, picture::svg(&buffer)) {
            Ok(()) => format!("Screenshot: {}", path.display()),
            Err(error) => format!("cannot write {}: {error}", path.display()),
        }
    }
}

impl Drop for Dashboard {
    /// However it ends, even if it never ran.
    fn drop(&mut self) {
        self.canvas.close();
    }
}

fn copied(text: &str, is_all: bool) -> String {
    let count = text.chars().count();
    match is_all {
        true => format!("Copied {count} characters to clipboard"),
        false => format!("Copied the latest {count} characters to clipboard: the log file has all of them"),
    }
}

fn forward_events(events: Subscription, inputs: SyncSender<Input>) -> io::Result<()> {
    let forward = move || {
        for event in events {
            if inputs.send(Input::Event(Box::new(event))).is_err() {
                return;
            }
        }
        let _ = inputs.send(Input::Over);
    };
    std::thread::Builder::new().name("aiperf-events".into()).spawn(forward).map(drop)
}

/// Without this thread the dashboard works, but has no keys.
fn forward_keys(canvas: Canvas, inputs: SyncSender<Input>) {
    let forward = move || {
        while !canvas.is_closed() {
            // While another process has the terminal, typed keys are not ours to read.
            if !canvas.is_open() {
                std::thread::sleep(KEYS_WAIT);
                continue;
            }
            match event::poll(KEYS_WAIT) {
                Ok(false) => {}
                Ok(true) => match event::read() {
                    Ok(event) => drop(inputs.send(Input::Terminal(event))),
                    Err(_) => return,
                },
                Err(_) => return,
            }
        }
    };
    let _ = std::thread::Builder::new().name("aiperf-keys".into()).spawn(forward);
}
