#include "node/launch/launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "node/control/cluster_report.h"
#include "node/control/control_listener.h"
#include "node/control/kill_command.h"
#include "node/control/report_json.h"
#include "node/environment.h"
#include "node/hosts/hosts_start.h"
#include "node/hosts/remote_host.h"
#include "node/launch/child_process.h"
#include "node/launch/host_run.h"
#include "node/launch/launch_plan.h"
#include "node/launch/log_files.h"
#include "node/launch/log_view.h"
#include "node/launch/output_queue.h"
#include "node/launch/process_guard.h"
#include "node/launch/recent_lines.h"
#include "node/launch/signal_queue.h"
#include "node/launch/subreaper.h"
#include "node/launch/supervision.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using namespace detail;
using Clock = std::chrono::steady_clock;
using Tone = LogView::Tone;

constexpr std::size_t kUnwrittenMax = 64 << 10;        // taken from the backlog, and not to be dropped any more
constexpr std::size_t kPartNameMax = 58;               // of the launcher of one host, so that its socket has a name
constexpr int kCannotStart = 126;                      // exit status, as a shell's
constexpr int kSignalBase = 128;                       // exit status, plus the signal's number
constexpr std::chrono::milliseconds kMargin{500};      // lets a node's own deadline pass first
constexpr std::chrono::milliseconds kCloseMax{2'000};  // until agents must have ended, or told of killed nodes
constexpr std::chrono::milliseconds kStuckMax{2'000};  // after an interrupt, for a reader that reads nothing
constexpr std::chrono::milliseconds kFollowMax{500};   // until who follows the output has been told of its end

/// Returns the name of the launcher's socket: "@HOST" for the part of one host, whose end is a hash if it is too long.
std::string name_of_part(const std::string& part) {
  if (part.size() <= kPartNameMax) return part.empty() ? "" : "@" + part;
  return fmt::format("@{}-{:08x}", part.substr(0, kPartNameMax - 9), std::hash<std::string>()(part) & 0xffffffffU);
}

std::string signal_name(int signal) { return fmt::format("SIG{}", sigabbrev_np(signal)); }

std::string count_of(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::int64_t milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
}

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col > 0 ? size.ws_col : 80;
}

LogView make_view(const LaunchPlan& plan, const Variables& variables, RecentLines& recent) {
  std::vector<std::string> labels;
  for (const NodePlan& node : plan.nodes) labels.push_back(node.label);
  const auto keep = [&recent, nodes = plan.nodes.size()](std::size_t node, Output stream, std::string_view line) {
    if (node < nodes) recent.add(node, stream, line);
  };
  for (const HostPlan& host : plan.hosts) labels.push_back("host " + host.name);
  const auto no_colour = variables.find("NO_COLOR");
  const bool moves_back = can_move_back(variables);
  return LogView(std::move(labels),
                 {.is_terminal = {moves_back && isatty(STDOUT_FILENO) == 1, moves_back && isatty(STDERR_FILENO) == 1},
                  .colours = no_colour == variables.end() || no_colour->second.empty(),
                  .columns = terminal_columns()},
                 keep);
}

std::vector<std::string> names(const LaunchPlan& plan) {
  std::vector<std::string> result;
  for (const NodePlan& node : plan.nodes) result.push_back(node.name);
  return result;
}

std::vector<OnExit> policies(const LaunchPlan& plan) {
  std::vector<OnExit> result;
  for (const NodePlan& node : plan.nodes) result.push_back(node.on_exit);
  return result;
}

class Launcher {
 public:
  Launcher(const ClusterConfig& config, const LaunchOptions& options, const ProcessGuard& guard, LaunchPlan plan)
      : config_(config),
        options_(options),
        guard_(guard),
        plan_(std::move(plan)),
        recent_(names(plan_)),
        view_(make_view(plan_, options.variables, recent_)),
        logs_(options.log_dir, names(plan_)),
        stop_timeout_(config.node.shutdown_timeout + kMargin),
        rules_(policies(plan_), stop_timeout_),
        ends_(plan_.nodes.size()),
        incomplete_(plan_.nodes.size()) {}

  int run() {
    if (const auto status = start_all()) {
      hosts_.clear();
      return flush(*status);
    }
    if (!rules_.interrupt()) say_that_it_started();
    open_control();
    while (!rules_.finished() || incomplete_ > 0) {
      turn(give_up_at_);
      if (give_up_at_ && Clock::now() >= *give_up_at_) give_hosts_up();
    }
    close_hosts();
    say_how_it_ended();
    end_following();
    return flush(is_cut_off_ && rules_.status() == 0 ? 1 : rules_.status());
  }

 private:
  /// Returns nullopt if all programs run. If not, the error has been printed and the result is the exit status.
  std::optional<int> start_all() {
    std::array<std::byte, 32> secret;
    if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) {
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    const auto status = plan_.hosts.empty() ? start_here(secret) : start_on_hosts(secret);
    explicit_bzero(secret.data(), secret.size());
    return status;
  }

  std::optional<int> start_here(std::span<const std::byte> secret) {
    auto host = std::make_unique<LocalHost>(guard_, events());
    for (NodePlan& node : plan_.nodes) {
      try {
        host->nodes().start(node.child, plan_.nodes_have_key_files ? std::span<const std::byte>() : secret);
      } catch (const SpawnError& error) {
        const std::size_t failed = host->nodes().size();
        host->nodes().kill_all();
        view_.say(Output::err, fmt::format("{} {}", view_.prefix(failed), error.what()), Tone::failure);
        return kCannotStart;
      }
      node.child.keys.reset();  // only the node needs them from now on
    }
    host_of_.assign(plan_.nodes.size(), 0);
    hosts_.push_back(std::move(host));
    return std::nullopt;
  }

  std::optional<int> start_on_hosts(std::span<const std::byte> secret) {
    std::vector<RemoteHost*> remotes;
    host_of_.assign(plan_.nodes.size(), 0);
    for (std::size_t i = 0; i < plan_.hosts.size(); ++i) {
      for (const std::size_t rank : plan_.hosts[i].nodes) host_of_[rank] = i;
      const std::size_t label = plan_.nodes.size() + i;
      const std::string prefix = view_.prefix(label) + " ";
      auto host = std::make_unique<RemoteHost>(
          RemoteHost::Options{
              .plan = plan_.hosts[i],
              .variables = options_.variables,
              .lease = plan_.hosts[i].prepare.lease,
              .connect_max = config_.node.join_timeout,
              .version = options_.version,
              .say = [this,
                      label](std::string_view line) { view_.write(label, Output::err, std::string(line) + "\n"); },
              .complain =
                  [this, prefix](std::string_view line) {
                    view_.say(Output::err, prefix + std::string(line), Tone::failure);
                  }},
          guard_, events());
      plan_.hosts[i].keys.clear();  // `host` has them
      remotes.push_back(host.get());
      hosts_.push_back(std::move(host));
    }
    HostsStart start(remotes);
    while (true) {
      switch (start.advance(secret, Clock::now())) {
        case HostsStart::Progress::started: return std::nullopt;
        case HostsStart::Progress::failed: return kCannotStart;
        case HostsStart::Progress::going: break;
      }
      turn();
      const auto signal = rules_.interrupt();
      if (signal && (killing_ || !start.has_begun())) return kSignalBase + *signal;
    }
  }

  HostEvents events() {
    return {
        .output = [this](std::size_t node, Output stream, std::string_view bytes) { take_output(node, stream, bytes); },
        .lost = [this](const LogLoss& loss) { take_loss(loss); },
        .ended = [this](const std::vector<NodeEnd>& ends) { take_ends(ends); },
        .complete =
            [this](std::size_t node, OutputEnd end) {
              view_.end(node);
              --incomplete_;
              is_cut_off_ = is_cut_off_ || end == OutputEnd::cut_off;
            },
        .answered =
            [this](std::uint64_t id, std::string text) {
              if (control_) control_->take_answer(id, std::move(text));
            }};
  }

  [[nodiscard]] std::vector<RemoteHost*> remote_hosts() const {
    std::vector<RemoteHost*> remotes;
    for (const auto& host : hosts_) {
      if (auto* const remote = dynamic_cast<RemoteHost*>(host.get())) remotes.push_back(remote);
    }
    return remotes;
  }

  /// Waits no longer for what agents have not said.
  void give_hosts_up() {
    give_up_at_.reset();
    for (RemoteHost* remote : remote_hosts()) remote->give_up();
  }

  /// Lets the agents end, which have no nodes any more.
  void close_hosts() {
    const std::vector<RemoteHost*> remotes = remote_hosts();
    for (RemoteHost* remote : remotes) remote->close();
    const Clock::time_point due = Clock::now() + kCloseMax;
    const auto is_over = [](const RemoteHost* remote) { return remote->state() == RemoteHost::State::over; };
    while (!std::all_of(remotes.begin(), remotes.end(), is_over) && Clock::now() < due) turn(due);
  }

  /// Lets those who follow the output read its end.
  void end_following() {
    recent_.end();
    const Clock::time_point due = Clock::now() + kFollowMax;
    while (control_ && Clock::now() < due && (recent_.is_followed(Clock::now()) || control_->connections() > 0)) {
      turn(due);
    }
  }

  /// Opens the control socket for `troupe status`.
  void open_control() {
    try {
      control_.emplace(ControlName{plan_.cluster_id, name_of_part(plan_.part)},
                       ControlListener::AnswerOrLater(
                           [this](std::string_view question, std::uint64_t id) { return answer(question, id); }));
    } catch (const std::exception& error) {
      view_.say(Output::err, fmt::format("[troupe] `troupe status` cannot ask: {}", error.what()), Tone::quiet);
    }
  }

  /// Answers "nodes", what RecentLines does, and "kill NODE NUMBER"; "ask NODE QUESTION" goes to the agent of the
  /// node's host.
  std::optional<std::string> answer(std::string_view question, std::uint64_t id) {
    if (question == "nodes") return json_of(report());
    const auto take_word = [&] {
      const std::string_view word = question.substr(0, question.find(' '));
      question.remove_prefix(std::min(word.size() + 1, question.size()));
      return word;
    };
    const std::string_view verb = take_word();
    if (verb == "newest" || verb == "logs" || verb == "follow") {
      return recent_.answer(verb, question, id, Clock::now());
    }
    if (verb != "ask" && verb != "kill") return json_of_error("it does not know this question");
    const std::string_view name = take_word();
    const auto node =
        std::find_if(plan_.nodes.begin(), plan_.nodes.end(), [&](const auto& each) { return each.name == name; });
    if (node == plan_.nodes.end()) return json_of_error("it has no such node");
    const auto rank = static_cast<std::size_t>(node - plan_.nodes.begin());
    if (verb == "kill") return kill(rank, std::string(question));
    if (hosts_[host_of_[rank]]->ask(rank, question, id)) return std::nullopt;
    return json_of_error("its host does not answer");
  }

  std::string kill(std::size_t rank, const std::string& signal) {
    const int number = signal_number(signal);
    if (number == 0) return json_of_error("the request names no valid signal");
    if (!ends_[rank].empty())
      return json_of_error(fmt::format("{} has ended: {}", plan_.nodes[rank].name, ends_[rank]));
    view_.say(Output::err, fmt::format("[troupe] {} to {} by `troupe kill`", signal_name(number), view_.prefix(rank)),
              Tone::quiet);
    hosts_[host_of_[rank]]->send(rank, number);
    return json_of(launched(rank));
  }

  LaunchedNode launched(std::size_t rank) const {
    return {plan_.nodes[rank].name, pid_of(rank), ends_[rank],
            plan_.hosts.empty() ? "" : plan_.hosts[host_of_[rank]].name, view_.backlog().lost_lines(rank)};
  }

  LaunchReport report() const {
    LaunchReport report{
        config_.name, (config_.directory / fs::path(config_.file).filename()).string(), Clock::now() - begin_, {}};
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      report.nodes.push_back(launched(i));
    }
    return report;
  }

  pid_t pid_of(std::size_t node) const { return hosts_.empty() ? 0 : hosts_[host_of_[node]]->pid(node); }

  /// Waits for events, until `due` at most, and handles them.
  void turn(std::optional<Clock::time_point> due = std::nullopt) {
    fill_output();
    // With no node left there is nobody to wait for the reader, and it gets all.
    const bool reads = nothing_runs() || view_.backlog().has_room(Clock::now());
    const auto reading = reads ? HostRun::Reading::on : HostRun::Reading::off;
    std::vector<pollfd> polled{{signals_.descriptor(), POLLIN, 0}};
    if (!output_.empty()) polled.push_back({output_.descriptor(), POLLOUT, 0});
    std::vector<std::size_t> first_of_host{polled.size()};
    for (const auto& host : hosts_) {
      host->add_polled(polled, reading);
      first_of_host.push_back(polled.size());
    }
    if (control_) control_->add_polled(polled);
    if (::poll(polled.data(), polled.size(), patience_ms(due)) < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "poll");
    }
    if (first_of_host.front() == 2 && polled[1].revents != 0) write_output();
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const std::size_t first = first_of_host[i];
      hosts_[i]->work(std::span<const pollfd>(polled).subspan(first, first_of_host[i + 1] - first), Clock::now());
    }
    if (polled[0].revents != 0) take_signals();
    if (control_) control_->work(Clock::now());
    for (auto& [id, text] : recent_.take_answers(Clock::now())) {
      if (control_) control_->take_answer(id, std::move(text));
    }
    if (const auto closed = output_.take_closed()) take_closed(*closed);
    if (!flushing_) carry_out(rules_.on_time(Clock::now()));
  }

  /// Moves lines from the backlog to what will be written.
  void fill_output() {
    while (output_.size() < kUnwrittenMax) {
      output_.push(view_.take(kUnwrittenMax));
      if (view_.backlog().empty()) return;
    }
  }

  /// Writes all that the reader accepts: nodes may print it faster than it goes out by a piece per turn.
  void write_output() {
    do {
      output_.write_some();
      fill_output();
    } while (output_.is_writable());
  }

  int patience_ms(std::optional<Clock::time_point> due) const {
    const auto sooner = [&](std::optional<Clock::time_point> other) {
      if (other && (!due || *other < *due)) due = other;
    };
    if (!flushing_) sooner(rules_.next_time());
    if (control_) sooner(control_->next_due());
    sooner(recent_.next_due());
    if (!nothing_runs()) sooner(view_.backlog().next_due());
    for (const auto& host : hosts_) sooner(host->next_due());
    if (!due) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }

  void take_output(std::size_t node, Output stream, std::string_view bytes) {
    view_.write(node, stream, bytes);
    if (const std::string trouble = logs_.write(node, bytes); !trouble.empty()) {
      view_.say(Output::err, "[troupe] " + trouble, Tone::failure);
    }
  }

  /// A host has dropped lines of a node: its log and those who ask for its lines have the gap, too.
  void take_loss(const LogLoss& loss) {
    view_.lose(loss);
    recent_.skip(loss.node, loss.lines);
    const std::string trouble = logs_.write_line(loss.node, view_.line_of(loss, LogView::kSlowHost));
    if (!trouble.empty()) {
      view_.say(Output::err, "[troupe] " + trouble, Tone::failure);
    }
  }

  void take_signals() {
    bool some_ended = false;
    bool hung_up = false;
    while (const int signal = signals_.take()) {
      if (signal == SIGCHLD) {
        some_ended = true;
      } else if (signal == SIGWINCH) {
        view_.set_columns(terminal_columns());
      } else if (signal == SIGHUP) {
        hung_up = true;
      } else {
        interrupt(signal);
      }
    }
    if (hung_up) interrupt(SIGHUP);  // after a SIGTERM that came with it, which is no second word then
    if (!some_ended) return;
    for (const auto& host : hosts_) host->child_ended();
    subreaper_.reap_orphans([this](pid_t pid) {
      return std::any_of(hosts_.begin(), hosts_.end(), [pid](const auto& host) { return host->has(pid); });
    });
  }

  void take_ends(const std::vector<NodeEnd>& ends) {
    for (const auto& [node, status, before_stop] : ends) {
      ends_[node] = status.text();
      // Over a slow connection it may have ended in time, and be heard of late.
      if (before_stop == BeforeStop::no && overdue_.contains(node) && status.by_signal() &&
          status.shell_status() == kSignalBase + SIGKILL) {
        view_.say(
            Output::err,
            fmt::format("{} did not end within {} ms of SIGTERM: killed", view_.prefix(node), stop_timeout_.count()),
            Tone::failure);
      }
      const bool was_stopping = rules_.stopping();
      const SignalOrders orders = rules_.on_exit(node, status, Clock::now(), before_stop);
      const auto& failure = rules_.first_failure();
      const bool is_told_late = before_stop == BeforeStop::yes && !(failure && failure->node == node);
      if (!status.ok() && !rules_.was_told(node) && (!rules_.finished() || is_told_late)) {
        view_.say(Output::err, ending(node, status), Tone::failure);
      }
      if (rules_.stopping() && !was_stopping && !rules_.finished()) {
        view_.say(Output::err, fmt::format("[troupe] stopping {}", count_of(rules_.running(), "other node")),
                  Tone::quiet);
      }
      carry_out(orders);
    }
  }

  /// One of the own outputs cannot be written: interrupts unless the user has. The second output, or the one whose
  /// reader has ended by the same Ctrl-C, says nothing new. Without room for standard error the nodes can go on.
  void take_closed(const OutputQueue::Closed& closed) {
    take_signals();  // one that came before the output was closed
    const bool is_out = closed.stream == Output::out;
    std::string why = signal_name(SIGPIPE);
    if (closed.error != EPIPE) {
      why = fmt::format("cannot write standard {}: {}", is_out ? "output" : "error", strerror(closed.error));
      if (is_out) unwritten_ = why;
      if (!is_out || nothing_runs() || rules_.interrupt())
        return view_.say(is_out ? Output::err : Output::out, "[troupe] " + why, Tone::failure);
    }
    if (!nothing_runs() && !rules_.interrupt()) interrupt(SIGPIPE, why);
  }

  /// Returns whether all nodes have ended, or none was left of a start that failed.
  bool nothing_runs() const { return flushing_ || rules_.finished(); }

  /// A hang-up is never the user's second word: for one end of a terminal the kernel and the shell each send one, and
  /// its output may be closed before.
  void interrupt(int signal) {
    if (signal == SIGHUP && rules_.interrupt() && !nothing_runs()) return;
    interrupt(signal, signal_name(signal));
  }

  void interrupt(int signal, std::string_view why) {
    if (nothing_runs()) {
      if (!flushing_ && incomplete_ > 0) std::ignore = rules_.on_interrupt(signal, Clock::now());
      give_hosts_up();
      return drop_output();
    }
    const bool again = rules_.interrupt().has_value();
    if (again && !std::exchange(killing_, true)) give_up_at_ = Clock::now() + kCloseMax;
    const std::string names = count_of(rules_.running(), "node");
    view_.say(Output::err,
              again ? fmt::format("[troupe] {}: killing {}", why, names)
                    : fmt::format("[troupe] {}: stopping {}, again to kill", why, names),
              Tone::quiet);
    carry_out(rules_.on_interrupt(signal, Clock::now()));
  }

  void carry_out(const SignalOrders& orders) {
    if (rules_.stopping() && !std::exchange(told_hosts_, true)) {
      for (const auto& host : hosts_) host->say_that_nodes_stop();
    }
    for (const SignalOrder& order : orders) {
      if (order.signal == SIGKILL && !killing_) overdue_.insert(order.node);
      if (!hosts_.empty()) hosts_[host_of_[order.node]]->send(order.node, order.signal);
    }
  }

  std::string ending(std::size_t node, const ExitStatus& status) const {
    return fmt::format("{} {}, pid {}", view_.prefix(node), status.text(), pid_of(node));
  }

  void say_that_it_started() {
    view_.say(Output::err,
              fmt::format("[troupe] {}: {}{} started in {} ms", config_.name, count_of(plan_.nodes.size(), "node"),
                          plan_.hosts.empty() ? "" : fmt::format(" on {}", count_of(plan_.hosts.size(), "host")),
                          milliseconds_since(begin_)),
              Tone::quiet);
  }

  void say_how_it_ended() {
    if (const auto& failure = rules_.first_failure()) {
      const std::string last_line = view_.last_line(failure->node).substr(0, 200);
      view_.say(Output::err,
                ending(failure->node, failure->status) +
                    (last_line.empty() ? "" : fmt::format("; its last line: {}", last_line)),
                Tone::failure);
    } else if (const auto signal = rules_.interrupt()) {
      const bool is_unwritten = *signal == SIGPIPE && !unwritten_.empty();
      view_.say(Output::err,
                fmt::format("[troupe] ended{}", is_unwritten ? ": " + unwritten_ : " by " + signal_name(*signal)),
                Tone::quiet);
    } else if (plan_.result && !is_cut_off_ && !view_.last_output_line(*plan_.result).empty()) {
      view_.say(Output::out, view_.last_output_line(*plan_.result));
    }
  }

  /// Writes the remaining output, unless the user interrupts that, or has before and its reader reads nothing. Returns
  /// `status`; 1 if nothing failed but writing.
  int flush(int status) {
    flushing_ = true;
    Clock::time_point due = Clock::now() + kStuckMax;
    for (fill_output(); !output_.empty(); fill_output()) {
      const std::size_t left = output_.size() + view_.backlog().size();
      turn(rules_.interrupt() ? std::optional(due) : std::nullopt);
      if (output_.size() + view_.backlog().size() < left) due = Clock::now() + kStuckMax;
      if (rules_.interrupt() && Clock::now() >= due) drop_output();
    }
    const bool is_ended_by_it = rules_.interrupt() == SIGPIPE && !rules_.first_failure();
    return !unwritten_.empty() && (status == 0 || is_ended_by_it) ? 1 : status;
  }

  void drop_output() {
    view_.backlog().clear();
    output_.drop();
  }

  const ClusterConfig& config_;
  const LaunchOptions& options_;
  const ProcessGuard& guard_;
  const Clock::time_point begin_ = Clock::now();
  LaunchPlan plan_;
  const Subreaper subreaper_;
  SignalQueue signals_;
  RecentLines recent_;
  LogView view_;
  LogFiles logs_;
  OutputQueue output_;
  const std::chrono::milliseconds stop_timeout_;
  Supervision rules_;
  bool killing_ = false;                         ///< the user interrupted twice
  std::optional<Clock::time_point> give_up_at_;  ///< when hosts are waited for no longer, then
  bool flushing_ = false;                        ///< only output is left to write
  std::string unwritten_;  ///< why standard output is not whole; empty: it is, or its reader has gone
  std::vector<std::unique_ptr<HostRun>> hosts_;
  std::vector<std::size_t> host_of_;  ///< the index in hosts_ of each node's host
  std::vector<std::string> ends_;     ///< of each node, empty while it runs
  std::set<std::size_t> overdue_;     ///< nodes that were sent SIGKILL because their time to stop was over
  std::size_t incomplete_;            ///< nodes whose output may still come
  bool is_cut_off_ = false;           ///< output of a node was lost with its host
  bool told_hosts_ = false;           ///< that nodes are told to stop
  std::optional<ControlListener> control_;
};

}  // namespace

detail::LaunchHost detail::this_host(const Variables& variables) {
  return {
      .variables = variables,
      .cores = available_cores(),
      .shows_bars = can_move_back(variables) && (isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1),
  };
}

int detail::run_plan(const ClusterConfig& config, const LaunchOptions& options,
                     const std::function<LaunchPlan()>& make_plan) {
  const ProcessGuard guard;  // a copy of this process, so before it has keys of nodes
  return Launcher(config, options, guard, make_plan()).run();
}

int run_cluster(const ClusterConfig& config, const LaunchOptions& options) {
  return detail::run_plan(config, options,
                          [&] { return detail::plan_launch(config, detail::this_host(options.variables)); });
}

}  // namespace troupe
