// The steps of an examination: each is done by all hosts at once, and has an end for each of them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "node/doctor/doctor_plan.h"
#include "node/doctor/examined_host.h"
#include "node/doctor/finding.h"
#include "node/launch/process_guard.h"
#include "node/launch/signal_queue.h"

namespace troupe::detail {

/// A signal has ended the examination.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  [[nodiscard]] int signal() const { return signal_; }

 private:
  int signal_;
};

/// REQUIRES: called on the main thread of a process without other threads; it takes signals as a launcher does.
class Examination {
 public:
  struct Options {
    Variables variables;                   ///< of this process
    std::string version;                   ///< of this program
    std::chrono::milliseconds patience{};  ///< with each host, at each step
  };

  Examination(DoctorPlan plan, const Options& options);

  /// Does all steps. Throws Interrupted.
  [[nodiscard]] std::vector<HostFindings> run();

 private:
  using Host = ExaminedHost;

  void connect();
  void compare_clocks();
  void gather_facts();
  void listen();
  void listen_at(const std::vector<Host*>& hosts, const std::string& first);
  void try_ways();
  void look_for_programs();
  void close();

  /// Asks these hosts and waits for their answers. `body_of` makes each question, `take` gets each answer: what it
  /// throws is a finding about the host. Hosts without an answer in time are given up.
  struct Question {
    std::string_view name;  ///< for findings
    AgentFrameKind order;
    AgentFrameKind answer;
    std::function<std::string(const Host&)> body_of;
    std::function<void(Host&, const AgentFrame&)> take;
  };
  void ask(const std::vector<Host*>& hosts, const Question& question);

  [[nodiscard]] std::vector<Host*> ready() const;
  [[nodiscard]] std::size_t index_of(const Host& host) const;
  [[nodiscard]] ReachOrder order_for(const Host& host) const;

  /// Waits for events, until `due` at most, and handles them.
  void turn(std::optional<Host::Time> due);

  DoctorPlan plan_;
  Options options_;
  SignalQueue signals_;
  ProcessGuard guard_;
  std::vector<std::unique_ptr<Host>> hosts_;       ///< as in the plan
  std::vector<std::string> tokens_;                ///< of each host's listener
  std::vector<std::optional<Listening>> places_;   ///< of each host, if it listens
  std::vector<std::vector<std::size_t>> targets_;  ///< of each host: the others that it was told to reach
  std::vector<std::vector<HostWay>> ways_;         ///< to each of targets_, if it has answered
};

}  // namespace troupe::detail
