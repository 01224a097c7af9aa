#include "node/launch/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "node/control/cluster_report.h"
#include "node/control/control_listener.h"
#include "node/control/report_json.h"
#include "node/environment.h"
#include "node/launch/child_process.h"
#include "node/launch/launch_plan.h"
#include "node/launch/log_files.h"
#include "node/launch/log_view.h"
#include "node/launch/output_queue.h"
#include "node/launch/process_guard.h"
#include "node/launch/signal_queue.h"
#include "node/launch/supervision.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using namespace detail;
using Clock = std::chrono::steady_clock;
using Tone = LogView::Tone;

constexpr std::size_t kUnwrittenMax = 1 << 20;     // beyond it nodes block until the launcher's own output is read
constexpr std::size_t kLeftoverMax = 4 << 20;      // the most output read from a node that has ended
constexpr std::chrono::milliseconds kMargin{500};  // lets a node's own deadline pass first

/// Makes this process inherit its children's orphans, so that it sees them end.
class Subreaper {
 public:
  Subreaper() {
    prctl(PR_GET_CHILD_SUBREAPER, &previous_);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~Subreaper() { prctl(PR_SET_CHILD_SUBREAPER, previous_); }
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;

 private:
  int previous_ = 0;
};

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

LogView make_view(const LaunchPlan& plan, const Variables& variables) {
  std::vector<std::string> labels;
  for (const NodePlan& node : plan.nodes) labels.push_back(node.label);
  const auto no_colour = variables.find("NO_COLOR");
  return LogView(std::move(labels), {.is_terminal = {isatty(STDOUT_FILENO) == 1, isatty(STDERR_FILENO) == 1},
                                     .colours = no_colour == variables.end() || no_colour->second.empty(),
                                     .columns = terminal_columns()});
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
  Launcher(const ClusterConfig& config, const LaunchOptions& options, LaunchPlan plan)
      : config_(config),
        plan_(std::move(plan)),
        view_(make_view(plan_, options.variables)),
        logs_(options.log_dir, names(plan_)),
        stop_timeout_(config.node.shutdown_timeout + kMargin),
        rules_(policies(plan_), stop_timeout_) {}

  int run() {
    if (!start_all()) return flush(126);
    open_control();
    while (!rules_.finished()) turn();
    say_how_it_ended();
    return flush(rules_.status());
  }

 private:
  /// Returns whether all programs run. If not, the error has been printed and the started ones are ended.
  bool start_all() {
    std::array<std::byte, 32> secret;
    if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) {
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      try {
        nodes_.push_back(std::make_unique<ChildProcess>(plan_.nodes[i].child, secret, guard_));
      } catch (const SpawnError& error) {
        while (!nodes_.empty()) nodes_.pop_back();
        view_.say(Output::err, fmt::format("{} {}", view_.prefix(i), error.what()), Tone::failure);
        return false;
      }
    }
    explicit_bzero(secret.data(), secret.size());
    view_.say(Output::err,
              fmt::format("[troupe] {}: {} started in {} ms", config_.name, count_of(nodes_.size(), "node"),
                          milliseconds_since(begin_)),
              Tone::quiet);
    return true;
  }

  /// Opens the control socket for `troupe status`.
  void open_control() {
    ends_.resize(nodes_.size());
    try {
      control_.emplace(ControlName{plan_.cluster_id, {}}, [this](std::string_view question) {
        return question == "nodes" ? json_of(report()) : json_of_error("it does not know this question");
      });
    } catch (const std::exception& error) {
      view_.say(Output::err, fmt::format("[troupe] `troupe status` cannot ask: {}", error.what()), Tone::quiet);
    }
  }

  LaunchReport report() const {
    LaunchReport report{
        config_.name, (config_.directory / fs::path(config_.file).filename()).string(), Clock::now() - begin_, {}};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      report.nodes.push_back({plan_.nodes[i].name, nodes_[i]->pid(), ends_[i]});
    }
    return report;
  }

  /// Waits for events and handles them.
  void turn() {
    output_.push(view_.take());
    std::vector<pollfd> polled{{signals_.descriptor(), POLLIN, 0}};
    if (!output_.empty()) polled.push_back({output_.descriptor(), POLLOUT, 0});
    const std::size_t first_node = polled.size();
    std::vector<std::pair<std::size_t, Output>> readers;
    for (std::size_t i = 0; i < nodes_.size() && output_.size() < kUnwrittenMax; ++i) {
      for (const Output stream : {Output::out, Output::err}) {
        if (!nodes_[i]->output(stream).is_open()) continue;
        polled.push_back({nodes_[i]->output(stream).get(), POLLIN, 0});
        readers.emplace_back(i, stream);
      }
    }
    const std::size_t first_of_control = polled.size();
    if (control_) control_->add_polled(polled);
    if (::poll(polled.data(), polled.size(), patience_ms()) < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "poll");
    }
    if (first_node == 2 && polled[1].revents != 0) output_.write_some();
    for (std::size_t i = 0; i < readers.size(); ++i) {
      if (polled[first_node + i].revents != 0) (void)read(readers[i].first, readers[i].second);
    }
    if (polled[0].revents != 0) take_signals();
    if (control_ && (polled.size() > first_of_control + 1 || polled[first_of_control].revents != 0))
      control_->work(Clock::now());
    if (output_.take_closed()) interrupt(SIGPIPE);
    carry_out(rules_.on_time(Clock::now()));
  }

  int patience_ms() const {
    auto next = rules_.next_time();
    const auto asked = control_ ? control_->next_due() : std::nullopt;
    if (asked && (!next || *asked < *next)) next = asked;
    if (!next) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }

  /// Reads available output, up to one buffer. Returns its size.
  std::size_t read(std::size_t node, Output stream) {
    FileDescriptor& output = nodes_[node]->output(stream);
    const ssize_t size = ::read(output.get(), buffer_.data(), buffer_.size());
    if (size == 0) output.close();
    if (size <= 0) return 0;
    const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(size));
    view_.write(node, stream, bytes);
    if (const std::string trouble = logs_.write(node, bytes); !trouble.empty()) {
      view_.say(Output::err, "[troupe] " + trouble, Tone::failure);
    }
    return bytes.size();
  }

  void take_signals() {
    bool some_ended = false;
    while (const int signal = signals_.take()) {
      if (signal == SIGCHLD) {
        some_ended = true;
      } else if (signal == SIGWINCH) {
        view_.set_columns(terminal_columns());
      } else {
        interrupt(signal);
      }
    }
    if (some_ended) take_ends();
  }

  void take_ends() {
    std::vector<std::pair<std::size_t, ExitStatus>> ends;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (const auto status = nodes_[i]->try_end()) ends.emplace_back(i, *status);
    }
    // Of simultaneous ends, a node killed by a signal is the cause, and one that exits the consequence.
    std::stable_partition(ends.begin(), ends.end(), [](const auto& end) { return end.second.by_signal(); });
    for (const auto& [node, status] : ends) {
      for (const Output stream : {Output::out, Output::err}) {
        for (std::size_t taken = 0; nodes_[node]->output(stream).is_open() && taken < kLeftoverMax;) {
          const std::size_t size = read(node, stream);
          if (size == 0) break;
          taken += size;
        }
        nodes_[node]->output(stream).close();
      }
      view_.end(node);
      ends_[node] = status.text();
      const bool was_stopping = rules_.stopping();
      const SignalOrders orders = rules_.on_exit(node, status, Clock::now());
      if (!status.ok() && !rules_.was_told(node) && !rules_.finished()) {
        view_.say(Output::err, ending(node, status), Tone::failure);
      }
      if (rules_.stopping() && !was_stopping && !rules_.finished()) {
        view_.say(Output::err, fmt::format("[troupe] stopping {}", count_of(rules_.running(), "other node")),
                  Tone::quiet);
      }
      carry_out(orders);
    }
  }

  void interrupt(int signal) {
    if (rules_.finished()) return output_.drop();
    const bool again = rules_.interrupt().has_value();
    killing_ = again;
    const std::string names = count_of(rules_.running(), "node");
    view_.say(Output::err,
              again ? fmt::format("[troupe] {}: killing {}", signal_name(signal), names)
                    : fmt::format("[troupe] {}: stopping {}, again to kill", signal_name(signal), names),
              Tone::quiet);
    carry_out(rules_.on_interrupt(signal, Clock::now()));
  }

  void carry_out(const SignalOrders& orders) {
    for (const SignalOrder& order : orders) {
      if (order.signal == SIGKILL && !killing_) {
        view_.say(Output::err,
                  fmt::format("{} did not end within {} ms of SIGTERM: killed", view_.prefix(order.node),
                              stop_timeout_.count()),
                  Tone::failure);
      }
      nodes_[order.node]->send(order.signal);
    }
  }

  std::string ending(std::size_t node, const ExitStatus& status) const {
    return fmt::format("{} {}, pid {}", view_.prefix(node), status.text(), nodes_[node]->pid());
  }

  void say_how_it_ended() {
    if (const auto& failure = rules_.first_failure()) {
      const std::string last_line = view_.last_line(failure->node).substr(0, 200);
      view_.say(Output::err,
                ending(failure->node, failure->status) +
                    (last_line.empty() ? "" : fmt::format("; its last line: {}", last_line)),
                Tone::failure);
    } else if (const auto signal = rules_.interrupt()) {
      view_.say(Output::err, fmt::format("[troupe] ended by {}", signal_name(*signal)), Tone::quiet);
    } else if (plan_.result) {
      view_.say(Output::out, view_.last_output_line(*plan_.result));
    }
  }

  /// Writes the remaining output, unless the user interrupts that. Returns `status`.
  int flush(int status) {
    output_.push(view_.take());
    while (!output_.empty()) turn();
    return status;
  }

  const ClusterConfig& config_;
  const Clock::time_point begin_ = Clock::now();
  LaunchPlan plan_;
  SignalQueue signals_;
  ProcessGuard guard_;
  LogView view_;
  LogFiles logs_;
  OutputQueue output_;
  const std::chrono::milliseconds stop_timeout_;
  Supervision rules_;
  bool killing_ = false;  ///< the user interrupted twice
  std::vector<std::unique_ptr<ChildProcess>> nodes_;
  std::vector<std::string> ends_;  ///< of each node, empty while it runs
  std::optional<ControlListener> control_;
  std::array<char, 64 * 1024> buffer_{};
};

}  // namespace

int run_cluster(const ClusterConfig& config, const LaunchOptions& options) {
  const LaunchHost host{
      .variables = options.variables,
      .cores = available_cores(),
      .shows_bars = isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1,
  };
  LaunchPlan plan = plan_launch(config, host);
  const Subreaper subreaper;
  return Launcher(config, options, std::move(plan)).run();
}

}  // namespace troupe
