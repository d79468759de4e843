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

/// Between two frames, at least.
const SHORTEST_FRAME: Duration = Duration::from_millis(100);
/// How often threads are looked at, and how long nothing may happen.
const LOOK: Duration = Duration::from_secs(1);
/// How long the thread that reads keys takes to notice that nobody wants them.
const KEYS_WAIT: Duration = Duration::from_millis(100);
/// Between two snapshots of the metrics: one a column of a sparkline.
const SNAPSHOTS: Nanos = Nanos(1_000_000_000);
/// Events on their way from those that emit them; more wait where the latest replaces the one before.
const MOST_INPUTS: usize = 1024;
/// Of these, those that are taken before the next frame: however many come, frames go on.
const MOST_AT_ONCE: usize = 256;
/// Warnings and errors that are said again when the screen they stood on is gone.
const MOST_SAID_AGAIN: usize = 10;

/// What a dashboard listens to: curves are fresher than the table.
pub(crate) fn interest(runtime: &RuntimePlan) -> Interest {
    Interest { progress: true, metrics_every: Some(tables(runtime).min(SNAPSHOTS)), ..Interest::default() }
}

/// Between two tables; where nobody says, each snapshot is one.
fn tables(runtime: &RuntimePlan) -> Nanos {
    runtime.stats_interval.unwrap_or(SNAPSHOTS)
}

/// The more eager of the log and the spinner says how often frames come: each of them is the whole screen.
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
    /// Between two frames.
    frame: Duration,
    /// Warnings and errors, of which only the dashboard told.
    doubts: VecDeque<LogLine>,
}

impl Dashboard {
    /// Shows what is told until the campaign is over; after the canvas was closed, as lines.
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
            doubts: VecDeque::new(),
        };
        forward_keys(dashboard.canvas.clone(), inputs.clone());
        if forward_events(events, inputs).is_err() {
            // Nothing will be told: the run goes on without a screen, and the terminal is no longer ours.
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
                // Somebody may let the process go on any moment.
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
                        return self.say_doubts();
                    }
                }
                next = if more > 0 { inputs.try_recv().ok() } else { None };
            }
            if self.canvas.is_closed() {
                self.say_doubts();
                // Nobody looks at what would be drawn.
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

    /// What is on the screen is not what should be.
    fn is_stale(&self) -> bool {
        self.model.is_stale || self.canvas.is_spoilt()
    }

    fn event(&mut self, event: &RunEvent) {
        for line in self.lines.lines(event) {
            if self.canvas.is_closed() {
                self.say_doubts();
                self.printer.print(&line);
                continue;
            }
            self.model.log(&line);
            if matches!(line.level, LogLevel::Warning | LogLevel::Error | LogLevel::Critical) {
                self.doubts.push_back(line);
                if self.doubts.len() > MOST_SAID_AGAIN {
                    self.doubts.pop_front();
                }
            }
        }
        self.model.take(event);
    }

    /// What should be known is on the screen that stays, too.
    fn say_doubts(&mut self) {
        self.doubts.drain(..).for_each(|line| self.printer.print(&line));
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
            // As if the terminal had made signals of the keys: whoever waits for them does the rest.
            Effect::Interrupt => {
                let _ = kill(Pid::this(), Signal::SIGINT);
            }
            Effect::Suspend => {
                let _ = kill(Pid::from_raw(0), Signal::SIGTSTP);
            }
            Effect::Copy { text, is_all } => {
                let told = copied(&text, is_all);
                let encoded = base64::prelude::BASE64_STANDARD.encode(&text);
                self.canvas.tell(&format!("\x1b]52;c;{encoded}\x07"));
                self.model.toast(told);
            }
            Effect::Picture => {
                let told = self.picture();
                self.model.toast(told);
            }
        }
    }

    /// Writes the screen into the run's directory; says where, or why not.
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
    /// However it ends, also where it never came to run.
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

/// Without keys there is still something to see.
fn forward_keys(canvas: Canvas, inputs: SyncSender<Input>) {
    let forward = move || {
        while !canvas.is_closed() {
            // What was typed is not ours to read while somebody else has the terminal.
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
