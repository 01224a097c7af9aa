#include "node/doctor/examination.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <map>
#include <span>
#include <system_error>
#include <utility>

#include "node/doctor/doctor_messages.h"
#include "node/doctor/host_rules.h"
#include "node/doctor/network_rules.h"
#include "node/hosts/hosts_start.h"
#include "node/keys/word_lines.h"
#include "node/links/tcp_place.h"
#include "node/text_table.h"

namespace troupe::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kClockSamples = 3;
constexpr std::uint64_t kYear10000 = 253'402'300'800'000'000;  // in microseconds: clocks do not tell more
constexpr std::size_t kProblemsMax = 64;                       // about programs of one host
constexpr std::size_t kProblemSizeMax = 1024;
constexpr std::chrono::milliseconds kCloseMax{1'000};  // until agents must have ended

std::string random_token() {
  std::array<std::byte, kTokenSize / 2> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return hex_of(bytes);
}

/// Returns that an agent does not answer, with its first reason.
std::string refusal_of(const AgentFrame& answer, std::string_view question) {
  const auto refused = parse_body<AgentRefused>(answer.body);
  return fmt::format("its agent refuses to say {}{}", question,
                     refused.problems.empty() ? "" : ": " + refused.problems.front().substr(0, kProblemSizeMax));
}

std::string no_body(const ExaminedHost&) { return {}; }

/// Returns the findings about programs: what the agent lacks is copied by `troupe up`.
std::vector<Finding> judge_programs(const AgentFrame& answer, std::size_t count) {
  std::vector<Finding> findings;
  if (answer.kind == AgentFrameKind::refused) {
    for (const std::string& problem : parse_body<AgentRefused>(answer.body).problems) {
      if (findings.size() < kProblemsMax) {
        findings.push_back({Mark::problem, "programs", problem.substr(0, kProblemSizeMax), {}});
      }
    }
    return findings;
  }
  const std::size_t lacks = parse_body<AgentPrepared>(answer.body).lacks.size();
  if (lacks > count) throw AgentProtocolError(fmt::format("it wants {} programs of {}", lacks, count));
  const std::string copied = lacks == 0 ? "" : fmt::format(", {} to be copied", lacks);
  return {{Mark::ok, "programs", fmt::format("{} of {} there{}", count - lacks, count, copied), {}}};
}

}  // namespace

Examination::Examination(DoctorPlan plan, const Options& options) : plan_(std::move(plan)), options_(options) {
  for (const DoctorHost& host : plan_.hosts) {
    hosts_.push_back(
        std::make_unique<Host>(Host::Options{host, options_.variables, options_.patience, options_.version}, guard_));
    tokens_.push_back(random_token());
  }
  places_.resize(hosts_.size());
  targets_.resize(hosts_.size());
  ways_.resize(hosts_.size());
}

std::vector<HostFindings> Examination::run() {
  connect();
  compare_clocks();
  gather_facts();
  if (plan_.has_network) {
    listen();
    try_ways();
  }
  look_for_programs();
  close();
  std::vector<HostFindings> findings;
  for (const auto& host : hosts_) findings.push_back(host->findings());
  return findings;
}

void Examination::connect() {
  const auto count = [&](Host::State state) {
    return static_cast<std::size_t>(
        std::ranges::count_if(hosts_, [&](const auto& host) { return host->state() == state; }));
  };
  while (count(Host::State::idle) + count(Host::State::connecting) > 0) {
    std::size_t connecting = count(Host::State::connecting);
    for (const auto& host : hosts_) {
      if (host->state() != Host::State::idle || connecting >= HostsStart::kConnectingMax) continue;
      host->connect(Clock::now());
      ++connecting;
    }
    turn(std::nullopt);  // each host has its own deadline
  }
  for (Host* host : ready()) host->note_login();
}

void Examination::compare_clocks() {
  std::map<Host*, std::vector<ClockSample>> samples;
  for (int i = 0; i < kClockSamples; ++i) {
    ask(ready(), {.name = "its clock",
                  .order = AgentFrameKind::clock,
                  .answer = AgentFrameKind::time,
                  .body_of = no_body,
                  .take = [&](Host& host, const AgentFrame& answer) {
                    std::string_view body = answer.body;
                    const std::uint64_t told = take_u64(body);
                    if (told >= kYear10000) throw AgentProtocolError("a time after the year 9999");
                    samples[&host].push_back({host.asked_at(), static_cast<std::int64_t>(told), host.answered_at()});
                  }});
  }
  for (Host* host : ready()) host->add(judge_clock(samples.at(host)));
}

void Examination::gather_facts() {
  ask(ready(), {.name = "its limits",
                .order = AgentFrameKind::examine,
                .answer = AgentFrameKind::facts,
                .body_of = no_body,
                .take = [](Host& host, const AgentFrame& answer) {
                  const auto facts = parse_body<HostFacts>(answer.body);
                  for (Finding& finding : judge_facts(facts, host.plan().needs)) host.add(std::move(finding));
                }});
}

void Examination::listen() {
  std::vector<Host*> hosts = ready();
  // A host without others has no address that they reach, and without nodes it needs none.
  const bool is_alone = hosts.size() < 2 && hosts_.size() > 1;
  std::erase_if(hosts, [&](const Host* host) { return is_alone && host->plan().needs.nodes == 0; });
  if (hosts.empty()) return;
  // As `troupe up` does it: all listen toward the first node. If its host is missing, the next one is taken.
  const auto planned = std::ranges::find(hosts, hosts_[plan_.first].get());
  Host* const first = planned == hosts.end() ? hosts.front() : *planned;
  listen_at({first}, "");
  std::erase(hosts, first);
  const auto& place = places_[index_of(*first)];
  listen_at(hosts, place ? TcpPlace{place->address, fmt::format("{}", place->port)}.text() : "");
}

void Examination::listen_at(const std::vector<Host*>& hosts, const std::string& first) {
  ask(hosts, {.name = "where it listens",
              .order = AgentFrameKind::listen,
              .answer = AgentFrameKind::listening,
              .body_of =
                  [&](const Host& host) {
                    ListenOrder order = host.plan().listen;
                    order.first = first;
                    order.token = tokens_[index_of(host)];
                    return json_of(order);
                  },
              .take =
                  [&](Host& host, const AgentFrame& answer) {
                    auto listening = parse_body<Listening>(answer.body);
                    for (Finding& finding : judge_listening(listening, host.plan().needs)) host.add(std::move(finding));
                    if (listening.problem.empty()) places_[index_of(host)] = std::move(listening);
                  }});
}

ReachOrder Examination::order_for(const Host& host) const {
  ReachOrder order;
  for (const std::size_t target : targets_[index_of(host)]) {
    const Listening& place = *places_[target];
    order.places.push_back({place.address, place.port, place.udp, place.stream_port, tokens_[target]});
  }
  order.patience_ms = static_cast<std::uint64_t>(options_.patience.count()) * 3 / 4;
  return order;
}

void Examination::try_ways() {
  for (std::size_t from = 0; from < hosts_.size(); ++from) {
    // Of more hosts than an order may name, each tries those after it.
    for (std::size_t step = 1; step < hosts_.size(); ++step) {
      const std::size_t to = (from + step) % hosts_.size();
      if (places_[to] && targets_[from].size() < ReachOrder::kPlacesMax) targets_[from].push_back(to);
    }
  }
  std::vector<Host*> hosts = ready();
  std::erase_if(hosts, [&](const Host* host) { return targets_[index_of(*host)].empty(); });
  ask(hosts, {.name = "which hosts it reaches",
              .order = AgentFrameKind::reach,
              .answer = AgentFrameKind::reached,
              .body_of = [&](const Host& host) { return json_of(order_for(host)); },
              .take =
                  [&](Host& host, const AgentFrame& answer) {
                    auto reached = parse_body<Reached>(answer.body);
                    const std::size_t index = index_of(host);
                    if (reached.ways.size() != targets_[index].size()) throw AgentProtocolError("ways to other hosts");
                    ways_[index] = std::move(reached.ways);
                  }});
  const auto works = [&](std::size_t from, std::size_t to) {
    const auto target = std::ranges::find(targets_[from], to);
    const auto way = static_cast<std::size_t>(target - targets_[from].begin());
    return way < ways_[from].size() && ways_[from][way].tcp.outcome == ReachOutcome::reached;
  };
  for (std::size_t from = 0; from < hosts_.size(); ++from) {
    std::vector<TriedWay> ways;
    const ReachOrder order = order_for(*hosts_[from]);
    for (std::size_t i = 0; i < ways_[from].size(); ++i) {
      const std::size_t to = targets_[from][i];
      ways.push_back({hosts_[from]->plan().name, hosts_[to]->plan().name, order.places[i], ways_[from][i],
                      works(to, from), plan_.ports});
    }
    for (Finding& finding : judge_ways(ways)) hosts_[from]->add(std::move(finding));
  }
}

void Examination::look_for_programs() {
  std::vector<Host*> hosts = ready();
  std::erase_if(hosts, [](const Host* host) { return !host->plan().programs; });
  ask(hosts, {.name = "its programs",
              .order = AgentFrameKind::prepare,
              .answer = AgentFrameKind::prepared,
              .body_of =
                  [&](const Host& host) {
                    AgentPrepare order = *host.plan().programs;
                    order.lease = std::chrono::milliseconds(0);  // the end of its input ends the agent
                    return json_of(order);
                  },
              .take =
                  [](Host& host, const AgentFrame& answer) {
                    const std::size_t count = host.plan().programs->programs.size();
                    for (Finding& finding : judge_programs(answer, count)) host.add(std::move(finding));
                  }});
}

void Examination::close() {
  for (const auto& host : hosts_) host->close();
  const Clock::time_point due = Clock::now() + kCloseMax;
  const auto is_over = [](const auto& host) { return host->remote().state() == RemoteHost::State::over; };
  while (!std::ranges::all_of(hosts_, is_over) && Clock::now() < due) turn(due);
}

void Examination::ask(const std::vector<Host*>& hosts, const Question& question) {
  for (Host* host : hosts) host->ask(question.order, question.body_of(*host), question.answer);
  const Clock::time_point due = Clock::now() + options_.patience;
  const auto is_asked = [](const Host* host) { return host->state() == Host::State::asked; };
  while (std::ranges::any_of(hosts, is_asked) && Clock::now() < due) turn(due);
  for (Host* host : hosts) {
    if (is_asked(host)) {
      host->give_up(fmt::format("no answer to {} within {}{}", question.name, shown(options_.patience),
                                host->remote().being_at()),
                    "is the host busy, or out of memory? --timeout gives it more time");
    }
    const auto answer = host->take_answer();
    if (!answer) continue;
    try {
      const bool is_refused = answer->kind == AgentFrameKind::refused && question.order != AgentFrameKind::prepare;
      is_refused ? host->give_up(refusal_of(*answer, question.name), {}) : question.take(*host, *answer);
    } catch (const AgentProtocolError& error) {
      host->give_up(fmt::format("its agent does not follow the protocol: {}", error.what()), {});
    }
  }
}

std::vector<ExaminedHost*> Examination::ready() const {
  std::vector<Host*> result;
  for (const auto& host : hosts_) {
    if (host->state() == Host::State::ready) result.push_back(host.get());
  }
  return result;
}

std::size_t Examination::index_of(const Host& host) const {
  return static_cast<std::size_t>(std::ranges::find_if(hosts_, [&](const auto& each) { return each.get() == &host; }) -
                                  hosts_.begin());
}

void Examination::turn(std::optional<Host::Time> due) {
  std::vector<pollfd> polled{{signals_.descriptor(), POLLIN, 0}};
  std::vector<std::size_t> first_of_host;
  for (const auto& host : hosts_) {
    first_of_host.push_back(polled.size());
    host->remote().add_polled(polled, HostRun::Reading::on);
    if (const auto other = host->remote().next_due()) due = std::min(due.value_or(*other), *other);
  }
  first_of_host.push_back(polled.size());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due.value_or(Clock::now()) - Clock::now()).count();
  const int patience_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000));
  if (::poll(polled.data(), polled.size(), patience_ms) < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "poll");
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const std::size_t first = first_of_host[i];
    hosts_[i]->remote().work(std::span<const pollfd>(polled).subspan(first, first_of_host[i + 1] - first),
                             Clock::now());
  }
  while (const int signal = signals_.take()) {
    if (signal == SIGCHLD) {
      for (const auto& host : hosts_) host->remote().child_ended();
    } else if (signal != SIGWINCH) {
      throw Interrupted(signal);
    }
  }
}

}  // namespace troupe::detail
