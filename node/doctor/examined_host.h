// One host under examination: `troupe doctor`'s side of doctor_messages.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/doctor/doctor_plan.h"
#include "node/doctor/finding.h"
#include "node/hosts/agent_frames.h"
#include "node/hosts/remote_host.h"

namespace troupe::detail {

/// A question at a time. A host that fails, or is given up, has a finding that says why, and is asked nothing more.
class ExaminedHost {
 public:
  using Time = RemoteHost::Time;

  struct Options {
    DoctorHost plan;
    Variables variables;                   ///< of the process that runs the agent, ssh
    std::chrono::milliseconds patience{};  ///< until the agent must have answered
    std::string version;                   ///< of this program
  };

  /// REQUIRES: `guard` outlives it.
  ExaminedHost(Options options, const ProcessGuard& guard);
  ExaminedHost(const ExaminedHost&) = delete;
  ExaminedHost& operator=(const ExaminedHost&) = delete;

  [[nodiscard]] const DoctorHost& plan() const { return options_.plan; }

  /// Returns the process that talks to it, for poll(2).
  [[nodiscard]] RemoteHost& remote() { return remote_; }

  enum class State {
    idle,        ///< connect() was not called
    connecting,  ///< no agent has answered
    ready,
    asked,  ///< an answer is awaited
    gone,   ///< failed, given up, or all was asked
  };
  [[nodiscard]] State state() const;

  void connect(Time now);

  /// Notes that the agent has answered: a later failure is not one of the login. REQUIRES: ready.
  void note_login();

  /// Sends `order`; `answer` is the only kind of frame that answers it, but for `refused`. REQUIRES: ready.
  void ask(AgentFrameKind order, std::string_view body, AgentFrameKind answer);

  /// Returns the answer to the last question, once.
  [[nodiscard]] std::optional<AgentFrame> take_answer();

  /// Returns when the last question was asked and answered, in microseconds since 1970 by this machine's clock.
  [[nodiscard]] std::int64_t asked_at() const { return asked_at_; }
  [[nodiscard]] std::int64_t answered_at() const { return answered_at_; }

  void add(Finding finding) { findings_.push_back(std::move(finding)); }

  /// Asks nothing more of it: it has not answered in time, or sent what cannot be.
  void give_up(std::string seen, std::string hint);

  /// Ends the agent; nothing that happens to it from now on is a finding.
  void close();

  [[nodiscard]] HostFindings findings() const { return {options_.plan.name, findings_}; }

 private:
  static RemoteHost::Options remote_options(ExaminedHost& self);
  bool take(const AgentFrame& frame);
  void complain(std::string_view line);

  Options options_;
  std::vector<std::string> said_;  ///< the last lines of ssh and of the login
  std::vector<Finding> findings_;
  std::optional<AgentFrameKind> awaited_;
  std::optional<AgentFrame> answer_;
  std::int64_t asked_at_ = 0;
  std::int64_t answered_at_ = 0;
  Time connected_{};
  Time welcomed_{};
  bool logged_in_ = false;
  bool gone_ = false;
  RemoteHost remote_;
};

}  // namespace troupe::detail
