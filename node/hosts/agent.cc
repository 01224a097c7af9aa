#include "node/hosts/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "node/control/control_client.h"
#include "node/doctor/host_examiner.h"
#include "node/environment.h"
#include "node/file_descriptor.h"
#include "node/hosts/agent_frames.h"
#include "node/hosts/agent_messages.h"
#include "node/hosts/host_address.h"
#include "node/hosts/host_programs.h"
#include "node/hosts/pipe_writer.h"
#include "node/keys/dump_guard.h"
#include "node/keys/key_ring.h"
#include "node/launch/child_process.h"
#include "node/launch/local_nodes.h"
#include "node/launch/log_backlog.h"
#include "node/launch/node_variables.h"
#include "node/launch/process_guard.h"
#include "node/launch/reserved_port.h"
#include "node/launch/signal_queue.h"
#include "node/launch/subreaper.h"
#include "node/links/tcp_place.h"

namespace troupe {
namespace {

using namespace detail;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kUnsentMax = 64 << 10;                 // other words wait behind so much output at most
constexpr std::chrono::milliseconds kAnswerTimeMax{1'500};   // `troupe status` waits 2 s
constexpr std::size_t kQuestionsMax = 64;                    // under way; others get no answer
constexpr std::chrono::milliseconds kFirstOrderMax{60'000};  // until the launcher has said its lease

/// The launcher asked for something that cannot be done; the agent says so and ends.
struct Refusal {
  std::vector<std::string> problems;
};

/// Makes `descriptor` non-blocking while it lives.
class NonBlocking {
 public:
  explicit NonBlocking(int descriptor) : descriptor_(descriptor), flags_(fcntl(descriptor, F_GETFL)) {
    fcntl(descriptor_, F_SETFL, flags_ | O_NONBLOCK);
  }
  ~NonBlocking() { fcntl(descriptor_, F_SETFL, flags_); }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;

 private:
  int descriptor_;
  int flags_;
};

class Agent {
 public:
  explicit Agent(const AgentOptions& options)
      : options_(options),
        input_(options.input),
        output_(options.output),
        programs_(options.variables, [this] { say_that_it_works(); }) {}

  int run() {
    const AgentWelcome welcome{options_.version, host_name(), available_cores()};
    out_.push(kAgentGreeting);
    send(AgentFrameKind::welcome, json_of(welcome));
    while (!end_) {
      try {
        turn();
      } catch (const Refusal& refusal) {
        refuse(refusal.problems);
      } catch (const SpawnError& error) {
        refuse({error.what()});
      } catch (const AgentProtocolError& error) {
        refuse({fmt::format("from troupe up: {}", error.what())});
      }
    }
    explicit_bzero(secret_.data(), secret_.size());
    nodes_.kill_all();
    if (!end_->text.empty()) fmt::print(stderr, "troupe agent: {}\n", end_->text);
    return end_->status;
  }

 private:
  void send(AgentFrameKind kind, std::string_view body) { out_.push(encode_frame(kind, body)); }

  /// An order takes long. The launcher's pings wait meanwhile, so the answer to one comes first.
  void say_that_it_works(std::string_view at = "") {
    send(AgentFrameKind::pong, at);
    (void)out_.write_some(output_);
  }

  NameLookup look_up() {
    return {.before = [this](std::string_view name) { say_that_it_works(fmt::format("looks up {}", name)); }};
  }

  /// Tells the launcher why, as long as it listens, and ends.
  void refuse(std::vector<std::string> problems) {
    send(AgentFrameKind::refused, json_of(AgentRefused{std::move(problems)}));
    const Clock::time_point due = Clock::now() + std::chrono::seconds(2);
    while (out_.size() > 0 && Clock::now() < due) {
      pollfd polled{output_, POLLOUT, 0};
      (void)::poll(&polled, 1, 100);
      if (out_.write_some(output_) == PipeWriter::Outcome::closed) break;
    }
    end_ = End{1, ""};
  }

  /// Waits for events and handles them.
  void turn() {
    std::vector<pollfd> polled{{signals_.descriptor(), POLLIN, 0}, {input_, POLLIN, 0}};
    if (out_.size() > 0 || !backlog_.empty()) polled.push_back({output_, POLLOUT, 0});
    const std::size_t first_node = polled.size();
    if (reads_nodes()) nodes_.add_polled(polled);
    const std::size_t first_question = polled.size();
    for (const Asked& each : asked_) polled.push_back({each.question.descriptor(), POLLIN, 0});
    const std::size_t first_examined = polled.size();
    examiner_.add_polled(polled);
    if (::poll(polled.data(), polled.size(), patience_ms()) < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "poll");
    }
    nodes_.read(std::span(polled).subspan(first_node, first_question - first_node), take_output());
    answer(std::span(polled).subspan(first_question, first_examined - first_question));
    examiner_.work(std::span(polled).subspan(first_examined));
    if (polled[0].revents != 0) take_signals();
    if (polled[1].revents != 0) read();
    do {
      send_output();
      if (out_.write_some(output_) == PipeWriter::Outcome::closed) end_ = End{0, ""};
    } while (!end_ && out_.size() == 0 && !backlog_.empty());
    if (!end_ && lease_.count() > 0 && Clock::now() - heard_ >= lease_) {
      end_ = End{1, fmt::format("no word from troupe up for {} ms: its nodes here are ended", lease_.count())};
    }
  }

  /// Returns whether nodes' output is read: not while the launcher wishes, or a slow connection makes them wait.
  bool reads_nodes() {
    const Clock::time_point now = Clock::now();
    if (held_until_ && now >= *held_until_) held_until_.reset();
    return backlog_.has_room(now) && !held_until_;
  }

  /// Moves output from the backlog to what will be written, in order with the ends of nodes.
  void send_output() {
    if (out_.size() >= kUnsentMax || backlog_.empty()) return;
    const LogBacklog::Taken taken = backlog_.take(kUnsentMax - out_.size());
    for (const LogLoss& loss : taken.losses) {
      std::string body = body_of(loss.node, loss.stream);
      put_u64(body, loss.lines);
      put_u64(body, loss.bytes);
      send(AgentFrameKind::lost, body);
    }
    for (const LogPiece& piece : taken.pieces) {
      if (piece.node) send(AgentFrameKind::output, body_of(*piece.node, piece.stream).append(piece.text));
      else send(AgentFrameKind::ended, piece.text);
    }
  }

  static std::string body_of(std::size_t node, Output stream) {
    std::string body;
    put_u32(body, static_cast<std::uint32_t>(node));
    body.push_back(static_cast<char>(stream));
    return body;
  }

  int patience_ms() const {
    std::optional<Clock::time_point> due;
    if (lease_.count() > 0) due = heard_ + lease_;
    const auto sooner = [&due](Clock::time_point other) { due = std::min(due.value_or(other), other); };
    if (!asked_.empty()) sooner(asked_.front().due);
    if (const auto examined = examiner_.next_due()) sooner(*examined);
    if (const auto room = backlog_.next_due()) sooner(*room);
    if (held_until_) sooner(*held_until_);
    if (!due) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }

  /// Asks the control socket of a node.
  void ask(std::string_view body) {
    const std::uint64_t id = take_u64(body);
    const std::uint32_t node = take_u32(body);
    if (node >= names_.size())
      throw AgentProtocolError(fmt::format("a question for node {} of {}", node, names_.size()));
    auto question = asked_.size() < kQuestionsMax
                        ? OpenQuestion::begin({{cluster_id_, names_[node]}, std::string(body)})
                        : std::nullopt;
    if (!question) return send_problem(id, "its agent cannot ask it now");
    if (question->is_over()) return send_answer(id, question->take_answer());
    asked_.push_back({id, *std::move(question), Clock::now() + kAnswerTimeMax});
  }

  /// Reads answers. `polled`: of asked_, in this order.
  void answer(std::span<const pollfd> polled) {
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) asked_[i].question.read_some();
      if (asked_[i].due <= Clock::now()) asked_[i].question.give_up(kAnswerTimeMax);
    }
    for (Asked& each : asked_) {
      if (each.question.is_over()) send_answer(each.id, each.question.take_answer());
    }
    std::erase_if(asked_, [](const Asked& each) { return each.question.is_over(); });
  }

  void send_answer(std::uint64_t id, const ControlAnswer& answer) {
    if (!answer.ok()) return send_problem(id, answer.problem);
    std::string body;
    put_u64(body, id);
    send(AgentFrameKind::answer, body.append("\1").append(answer.text));
  }

  void send_problem(std::uint64_t id, std::string_view problem) {
    std::string body;
    put_u64(body, id);
    body.push_back('\0');
    send(AgentFrameKind::answer, body.append(problem));
  }

  void take_signals() {
    bool some_ended = false;
    while (const int signal = signals_.take()) {
      if (signal == SIGCHLD) some_ended = true;
      else if (signal != SIGWINCH) end_ = End{1, fmt::format("ended by SIG{}", sigabbrev_np(signal))};
    }
    if (!some_ended) return;
    const std::vector<NodeEnd> ends = nodes_.take_ends(take_output());
    subreaper_.reap_orphans([this](pid_t pid) { return nodes_.has(pid); });
    for (const NodeEnd& end : ends) {
      std::string body;
      put_u32(body, static_cast<std::uint32_t>(end.node));
      backlog_.push_end(end.node, Output::out, body);
      put_u32(body, static_cast<std::uint32_t>(end.status.wait_status()));
      body.push_back(stopping_ ? '\0' : '\1');
      send(AgentFrameKind::exited, body);  // others may fail because of it: its output must not hide that
    }
  }

  TakeOutput take_output() {
    return [this](std::size_t node, Output stream, std::string_view bytes) { backlog_.push(node, stream, bytes); };
  }

  void read() {
    std::array<char, 64 * 1024> buffer{};
    const ssize_t size = ::read(input_, buffer.data(), buffer.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size <= 0) {
      end_ = End{0, ""};
      return;
    }
    orders_.feed(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
    explicit_bzero(buffer.data(), buffer.size());
    while (auto order = orders_.next()) {
      obey(*order);
      explicit_bzero(order->body.data(), order->body.size());  // a secret, maybe
    }
    heard_ = Clock::now();  // what came while it obeyed was not read: that was no silence
  }

  void obey(const AgentFrame& order) {
    std::string_view body = order.body;
    if (HostExaminer::knows(order.kind)) return examiner_.obey(order);
    switch (order.kind) {
      case AgentFrameKind::prepare: return prepare(parse_body<AgentPrepare>(body));
      case AgentFrameKind::program: return take_program(body);
      case AgentFrameKind::secret: return take_secret(body);
      case AgentFrameKind::keys: return take_keys(body);
      case AgentFrameKind::start: return start(parse_body<AgentStart>(body));
      case AgentFrameKind::question: return ask(body);
      case AgentFrameKind::ping: return send(AgentFrameKind::pong, "");
      case AgentFrameKind::stopping: stopping_ = true; return;
      case AgentFrameKind::hold:
        held_until_ = take_u8(body) == 1 ? std::optional(Clock::now() + LogBacklog::kPatience) : std::nullopt;
        return;
      case AgentFrameKind::signal: {
        const std::uint32_t node = take_u32(body);
        const auto signal = static_cast<int>(take_u32(body));
        if (node >= nodes_.size() || signal < 1 || signal > SIGRTMAX) {
          throw AgentProtocolError(fmt::format("signal {} for node {} of {}", signal, node, nodes_.size()));
        }
        return nodes_.send(node, signal);
      }
      default: break;
    }
    throw AgentProtocolError(fmt::format("an unknown message, {}", static_cast<int>(order.kind)));
  }

  void prepare(AgentPrepare order) {
    lease_ = order.lease;
    cluster_id_ = std::move(order.cluster_id);
    network_ = std::move(order.network);
    // Keys of all nodes here will come, and none of them may look at the others'. Debuggers may: then there is no
    // lease.
    if (network_ == "keys" && lease_.count() > 0) forbid_attaching();
    if (order.seed) reserve(*order.seed);
    try {
      programs_.look_for(std::move(order.programs));
    } catch (const std::system_error& error) {
      throw Refusal{{error.what()}};
    }
    if (!programs_.problems().empty()) throw Refusal{programs_.problems()};
    say_prepared();
  }

  void say_prepared() { send(AgentFrameKind::prepared, json_of(AgentPrepared{programs_.lacks(), seed_})); }

  void reserve(const AgentSeed& wanted) {
    try {
      const std::string host =
          seed_address({wanted.address, wanted.toward, network_, options_.variables, "host.address", look_up()});
      reserved_ = reserve_port(host, wanted.port, PortRange::parse(wanted.ports));
      seed_ = TcpPlace{host, reserved_.number}.text();
    } catch (const std::invalid_argument& error) {
      throw Refusal{{error.what()}};
    } catch (const std::system_error& error) {
      throw Refusal{
          {wanted.port == 0 && !wanted.ports.empty()
               ? fmt::format("cluster.ports: cannot use a port of {}: {}", wanted.ports, error.code().message())
               : fmt::format("cluster.port: cannot use port {}: {}", wanted.port, error.code().message())}};
    }
  }

  void take_program(std::string_view body) {
    const std::uint32_t index = take_u32(body);
    try {
      programs_.take_piece(index, body);
    } catch (const std::system_error& error) {
      throw Refusal{{fmt::format("cannot keep a copy: {}", error.what())}};
    }
    if (programs_.lacks().empty()) say_prepared();
  }

  void take_secret(std::string_view body) {
    if (body.size() != secret_.size()) throw AgentProtocolError(fmt::format("a secret of {} bytes", body.size()));
    memcpy(secret_.data(), body.data(), body.size());
    has_secret_ = true;
  }

  void take_keys(std::string_view body) {
    const std::uint32_t node = take_u32(body);
    if (node != keys_.size())
      throw AgentProtocolError(fmt::format("keys of node {} after {} others", node, keys_.size()));
    auto ring = KeyRing::from_bytes(std::as_bytes(std::span(body)));
    if (!ring) throw AgentProtocolError(ring.error().message);
    keys_.push_back(std::move(ring).value());
  }

  void start(const AgentStart& order) {
    const bool has_keys = keys_.empty() || keys_.size() == order.nodes.size();
    if (nodes_.size() > 0 || !programs_.lacks().empty() || !has_keys || !has_secret_) {
      throw AgentProtocolError("start at a wrong time");
    }
    const int threads = math_threads_of(order.math_threads, available_cores(), static_cast<int>(order.nodes.size()));
    const Variables inherited = inherited_variables(options_.variables, threads);
    std::string address;
    try {
      if (order.seed.starts_with("tcp://"))
        address = TcpPlace{node_address(order.address, order.seed, network_, "host.address", look_up()), "*"}.text();
    } catch (const std::invalid_argument& error) {
      throw Refusal{{error.what()}};
    }
    for (const AgentNode& node : order.nodes) {
      if (node.program >= programs_.size()) throw AgentProtocolError("a node without a program");
      ChildSpec spec;
      spec.program = programs_.path(node.program);
      spec.arguments = node.arguments;
      spec.environment = node.variables;
      spec.working_dir = node.working_dir;
      for (const auto& [name, value] : order.variables) spec.environment.emplace(name, value);
      for (const auto& [name, value] : inherited) spec.environment.emplace(name, value);
      spec.environment.emplace("TROUPE_ADDRESS", address);  // unless the launcher knows it
      if (!spec.working_dir.empty()) require_directory(spec.working_dir);
      if (!keys_.empty()) spec.keys = keys_.at(nodes_.size());
      nodes_.start(spec, secret_);
      names_.push_back(node.name);
      if (names_.size() < order.nodes.size()) say_that_it_works();
    }
    explicit_bzero(secret_.data(), secret_.size());
    keys_.clear();
    AgentStarted started;
    for (std::size_t i = 0; i < nodes_.size(); ++i) started.pids.push_back(nodes_.pid(i));
    send(AgentFrameKind::started, json_of(started));
  }

  static void require_directory(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return;
    throw Refusal{{fmt::format("no directory {}{}: host.working_dir says where programs run there", path.string(),
                               error ? " (" + error.message() + ")" : "")}};
  }

  static std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
  }

  const AgentOptions& options_;
  const int input_;
  const int output_;
  const NonBlocking input_mode_{input_};
  const NonBlocking output_mode_{output_};
  const Subreaper subreaper_;
  SignalQueue signals_;
  ProcessGuard guard_;
  LocalNodes nodes_{guard_};
  HostPrograms programs_;
  AgentFrameReader orders_;
  PipeWriter out_;
  LogBacklog backlog_;                           ///< output of nodes; its words are bodies of `ended`
  std::optional<Clock::time_point> held_until_;  ///< nodes that print wait by the launcher's wish
  bool stopping_ = false;                        ///< the launcher has said so
  ReservedPort reserved_;
  std::string seed_;     ///< where the first node will listen, if it is here
  std::string network_;  ///< as in cluster.network
  std::string cluster_id_;
  std::vector<std::string> names_;  ///< of nodes_
  struct Asked {
    std::uint64_t id;
    OpenQuestion question;
    Clock::time_point due;
  };
  std::vector<Asked> asked_;  ///< the first is due first
  HostExaminer examiner_{options_.variables, [this](AgentFrameKind kind, std::string_view body) { send(kind, body); },
                         look_up()};
  std::array<std::byte, 32> secret_{};
  bool has_secret_ = false;
  std::vector<KeyRing> keys_;                         ///< of the nodes to start
  Clock::time_point heard_ = Clock::now();            ///< the launcher, last
  std::chrono::milliseconds lease_ = kFirstOrderMax;  ///< 0: none
  struct End {
    int status;        ///< of the process
    std::string text;  ///< for standard error
  };
  std::optional<End> end_;  ///< why the agent ends
};

}  // namespace

int run_agent(const AgentOptions& options) { return Agent(options).run(); }

}  // namespace troupe
