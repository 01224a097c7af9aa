#include "node/hosts/remote_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "node/control/report_json.h"
#include "node/launch/program_path.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kPieceMax = 16 << 10;            // of a program: over a slow link, one arrives within the lease
constexpr std::size_t kOrdersMax = 1 << 20;            // copying waits beyond it
constexpr std::size_t kSshLineMax = 4096;              // of ssh; longer ones are cut
constexpr std::size_t kAtMax = 256;                    // bytes of what an agent says that it is at
constexpr std::chrono::milliseconds kWorkMax{60'000};  // until an agent that prepares or starts must have said a word
constexpr int kPingsPerLease = 4;
constexpr std::chrono::seconds kPingsApart{15};  // at most: an agent that has no lease yet ends after 60 s of silence

/// Returns a hint for a remote shell that ended before an agent answered, with that status and that last line.
std::string_view hint_for(ExitStatus status, std::string_view last_line) {
  if (status.by_signal()) return "";
  if (status.shell_status() == 127) return ": is troupe on PATH there? host.troupe says where it is";
  const auto is_told = [last_line](std::string_view words) { return last_line.find(words) != std::string_view::npos; };
  const bool is_refused = last_line.empty() || is_told("Permission denied") || is_told("verification failed") ||
                          is_told("authentication failures");
  if (status.shell_status() == 255 && is_refused) return ": does `ssh` to it work without a password?";
  return "";
}

}  // namespace

RemoteHost::RemoteHost(Options options, const ProcessGuard& guard, HostEvents events)
    : options_(std::move(options)), guard_(guard), events_(std::move(events)) {
  running_.assign(options_.plan.nodes.size(), false);
  incomplete_ = running_;
}

void RemoteHost::connect(Time now) {
  state_ = State::connecting;
  heard_ = now;
  due_ = now + options_.connect_max;
  ChildSpec spec;
  const std::string& program = options_.plan.agent.front();
  const auto found = program.find('/') == std::string::npos ? find_on_path(program, options_.variables) : program;
  if (!found) return fail({fmt::format("no program \"{}\" on PATH here", program)});
  spec.program = *found;
  spec.arguments.assign(options_.plan.agent.begin() + 1, options_.plan.agent.end());
  spec.environment = options_.variables;
  spec.environment.erase("SSH_CONNECTION");  // it is about this machine
  spec.takes_input = true;
  spec.may_gain_privileges = true;
  try {
    agent_ = std::make_unique<ChildProcess>(spec, std::span<const std::byte>(), guard_);
  } catch (const SpawnError& error) {
    fail({error.what()});
  }
}

void RemoteHost::prepare(Time now) {
  state_ = State::preparing;
  pinged_ = now;
  send(AgentFrameKind::prepare, json_of(options_.plan.prepare));
}

void RemoteHost::start(std::string_view seed, std::span<const std::byte> secret, Time now) {
  state_ = State::starting;
  pinged_ = now;
  AgentStart order = options_.plan.start;
  order.seed = seed;
  order.variables.emplace("TROUPE_SEED", seed);
  for (std::size_t i = 0; i < order.nodes.size(); ++i) {
    if (options_.plan.nodes[i] == 0 && !seed_.empty()) order.nodes[i].variables["TROUPE_ADDRESS"] = seed_;
  }
  send(AgentFrameKind::secret, std::string_view(reinterpret_cast<const char*>(secret.data()), secret.size()));
  for (std::size_t i = 0; i < options_.plan.keys.size(); ++i) {
    const LockedBytes ring = options_.plan.keys[i].to_bytes();
    std::string body;
    put_u32(body, static_cast<std::uint32_t>(i));
    body.append(reinterpret_cast<const char*>(ring.bytes().data()), ring.bytes().size());
    send(AgentFrameKind::keys, body);
    explicit_bzero(body.data(), body.size());
  }
  options_.plan.keys.clear();  // only the nodes need them from now on
  send(AgentFrameKind::start, json_of(order));
}

void RemoteHost::close() {
  if (state_ == State::over) return;
  closing_ = true;
  if (agent_ && out_.size() == 0) agent_->input().close();
  if (state_ == State::idle) state_ = State::over;
}

void RemoteHost::give_up() {
  if (std::ranges::count(running_, true) > 0) return fail({"it has not said that its nodes were killed"});
  if (std::ranges::count(incomplete_, true) > 0) fail({});
}

void RemoteHost::add_polled(std::vector<pollfd>& polled, Reading reading) {
  polled_ = {-1, -1};
  if (!agent_ || state_ == State::over) return;
  if (state_ == State::running && reading != told_) {
    told_ = reading;
    send(AgentFrameKind::hold, reading == Reading::off ? std::string_view("\1", 1) : std::string_view("\0", 1));
  }
  int position = 0;
  for (const Output stream : {Output::out, Output::err}) {
    FileDescriptor& descriptor = agent_->output(stream);
    if (!descriptor.is_open()) continue;
    polled.push_back({descriptor.get(), POLLIN, 0});
    polled_[static_cast<std::size_t>(stream)] = position++;
  }
  if (agent_->input().is_open() && out_.size() > 0) polled.push_back({agent_->input().get(), POLLOUT, 0});
}

void RemoteHost::work(std::span<const pollfd> polled, Time now) {
  if (!agent_ || state_ == State::over) return;
  for (const Output stream : {Output::err, Output::out}) {
    const int position = polled_[static_cast<std::size_t>(stream)];
    if (position >= 0 && polled[static_cast<std::size_t>(position)].revents != 0) read(stream, now);
    if (state_ == State::over) return;
  }
  if (state_ == State::connecting && now >= due_) {
    return fail({fmt::format("no agent has answered within {} ms", options_.connect_max.count())});
  }
  if (const auto max = silence_max(); state_ != State::connecting && max.count() > 0 && now >= heard_ + max) {
    return fail({fmt::format("no word from its agent for {} ms{}", max.count(), being_at())});
  }
  if (state_ != State::connecting && !closing_ && now >= pinged_ + pings_apart()) {
    pinged_ = now;
    send(AgentFrameKind::ping, "");
  }
  copy_some();
  if (state_ == State::over) return;
  if (agent_->input().is_open() && out_.size() > 0 &&
      out_.write_some(agent_->input().get()) == PipeWriter::Outcome::closed) {
    agent_->input().close();  // its end, with the reason, is read from the output
  }
  if (closing_ && out_.size() == 0) agent_->input().close();
}

void RemoteHost::child_ended() {
  if (!agent_ || state_ == State::over) return;
  const auto status = agent_->try_end();
  if (!status) return;
  for (const Output stream : {Output::err, Output::out}) {
    while (state_ != State::over && agent_->output(stream).is_open()) {
      const auto before = heard_;
      read(stream, heard_ + std::chrono::nanoseconds(1));
      if (heard_ == before) break;
    }
  }
  if (state_ == State::over) return;
  if (closing_) return fail({});
  std::string problem = state_ == State::connecting ? fmt::format("{} ended before an agent answered: {}",
                                                                  options_.plan.agent.front(), status->text())
                                                    : fmt::format("its agent ended: {}", status->text());
  if (!last_line_.empty()) problem += fmt::format("; its last line: {}", last_line_);
  problem += state_ == State::connecting ? hint_for(*status, last_line_) : "";
  fail({std::move(problem)});
}

std::optional<RemoteHost::Time> RemoteHost::next_due() const {
  if (!agent_ || state_ == State::over) return std::nullopt;
  if (state_ == State::connecting) return due_;
  std::optional<Time> due;
  if (!closing_) due = pinged_ + pings_apart();
  if (const auto max = silence_max(); max.count() > 0) due = std::min(due.value_or(Time::max()), heard_ + max);
  return due;
}

/// Returns after how long a silence the host is given up; 0: never. An agent that prepares or starts waits for its
/// system's resolver and disks.
std::chrono::milliseconds RemoteHost::silence_max() const {
  const bool works = state_ == State::preparing || state_ == State::starting;
  return works && options_.lease.count() > 0 ? std::max(options_.lease, kWorkMax) : options_.lease;
}

std::string RemoteHost::being_at() const {
  return at_.empty() ? "" : fmt::format("; it {}: does its resolver answer? host.address may be a number", at_);
}

std::chrono::milliseconds RemoteHost::pings_apart() const {
  return options_.lease.count() > 0 ? std::min<std::chrono::milliseconds>(options_.lease / kPingsPerLease, kPingsApart)
                                    : kPingsApart;
}

void RemoteHost::say_that_nodes_stop() {
  if (state_ == State::starting || state_ == State::running) send(AgentFrameKind::stopping, "");
}

void RemoteHost::send(std::size_t rank, int signal) {
  const std::size_t node = local(rank);
  if (state_ != State::starting && !running_[node]) return;
  std::string body;
  put_u32(body, static_cast<std::uint32_t>(node));
  put_u32(body, static_cast<std::uint32_t>(signal));
  send(AgentFrameKind::signal, body);
}

bool RemoteHost::ask(std::size_t rank, std::string_view question, std::uint64_t id) {
  if (state_ != State::running) return false;
  std::string body;
  put_u64(body, id);
  put_u32(body, static_cast<std::uint32_t>(local(rank)));
  send(AgentFrameKind::question, body.append(question));
  return true;
}

pid_t RemoteHost::pid(std::size_t rank) const {
  const std::size_t node = local(rank);
  return node < pids_.size() ? pids_[node] : 0;
}

void RemoteHost::send(AgentFrameKind kind, std::string_view body) {
  if (state_ == State::over || !agent_ || !agent_->input().is_open()) return;
  out_.push(encode_frame(kind, body));
}

void RemoteHost::read(Output stream, Time now) {
  std::array<char, 64 * 1024> buffer{};
  FileDescriptor& output = agent_->output(stream);
  const ssize_t size = ::read(output.get(), buffer.data(), buffer.size());
  if (size < 0) return;
  if (size == 0) return output.close();  // child_ended has the reason
  heard_ = now;
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
  if (stream == Output::err) return show_lines(stream, bytes);
  try {
    take(bytes, now);
  } catch (const AgentProtocolError& error) {
    fail({fmt::format("its agent does not follow the protocol: {}", error.what())});
  }
}

void RemoteHost::take(std::string_view bytes, Time now) {
  if (!greeted_) {
    const auto rest = greeting_.feed(bytes);
    if (!rest) return;
    greeted_ = true;
    pinged_ = now;
    show_lines(Output::out, std::string(greeting_.noise()));
    frames_.feed(*rest);
  } else {
    frames_.feed(bytes);
  }
  while (state_ != State::over) {
    const auto frame = frames_.next();
    if (!frame) return;
    obey(*frame);
  }
}

void RemoteHost::obey(const AgentFrame& frame) {
  std::string_view body = frame.body;
  at_ = frame.kind == AgentFrameKind::pong ? body.substr(0, kAtMax) : "";
  if (options_.take && options_.take(frame)) return;
  switch (frame.kind) {
    case AgentFrameKind::welcome: return welcome(body);
    case AgentFrameKind::prepared: return take_prepared(body);
    case AgentFrameKind::started: return take_started(body);
    case AgentFrameKind::refused: return fail(parse_body<AgentRefused>(body).problems);
    case AgentFrameKind::exited: return take_exit(body);
    case AgentFrameKind::ended: return take_end(body);
    case AgentFrameKind::answer: return take_answer(body);
    case AgentFrameKind::pong: return;
    case AgentFrameKind::output: {
      const std::size_t rank = rank_of(take_u32(body));
      const std::uint8_t stream = take_u8(body);
      if (stream > 1) throw AgentProtocolError(fmt::format("output of stream {}", stream));
      return events_.output(rank, static_cast<Output>(stream), body);
    }
    case AgentFrameKind::lost: {
      const std::size_t rank = rank_of(take_u32(body));
      const std::uint8_t stream = take_u8(body);
      if (stream > 1) throw AgentProtocolError(fmt::format("a loss of stream {}", stream));
      const std::uint64_t lines = take_u64(body);
      return events_.lost({rank, static_cast<Output>(stream), lines, take_u64(body)});
    }
    default: break;
  }
  throw AgentProtocolError(fmt::format("an unknown message, {}", static_cast<int>(frame.kind)));
}

void RemoteHost::welcome(std::string_view body) {
  if (state_ != State::connecting) throw AgentProtocolError("a second welcome");
  const auto hello = parse_body<AgentWelcome>(body);
  if (hello.version != options_.version) {
    return fail({fmt::format("it has troupe {}, here is {}", hello.version, options_.version)});
  }
  state_ = State::welcomed;
}

void RemoteHost::take_prepared(std::string_view body) {
  if (state_ != State::preparing) throw AgentProtocolError("prepared at a wrong time");
  AgentPrepared answer = parse_body<AgentPrepared>(body);
  seed_ = std::move(answer.seed);
  copying_.programs = std::move(answer.lacks);
  for (const std::size_t index : copying_.programs) {
    if (index < options_.plan.programs_here.size() && !options_.plan.programs_here[index].empty()) continue;
    throw AgentProtocolError(fmt::format("it wants program {}", index));
  }
  if (copying_.programs.empty()) state_ = State::prepared;
}

void RemoteHost::copy_some() {
  while (!copying_.programs.empty() && out_.size() < kOrdersMax) {
    const std::size_t index = copying_.programs.front();
    const std::filesystem::path& path = options_.plan.programs_here[index];
    if (!copying_.file.is_open()) copying_.file = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string piece(kPieceMax, '\0');
    const ssize_t size = copying_.file.is_open() ? ::read(copying_.file.get(), piece.data(), piece.size()) : -1;
    if (size < 0) return fail({fmt::format("cannot read {}: {}", path.string(), strerror(errno))});
    piece.resize(static_cast<std::size_t>(size));
    std::string body;
    put_u32(body, static_cast<std::uint32_t>(index));
    send(AgentFrameKind::program, body + piece);
    send(AgentFrameKind::ping, "");  // its answer says that the piece has arrived: others wait behind megabytes
    if (size > 0) continue;
    copying_.file.close();
    copying_.programs.erase(copying_.programs.begin());
  }
}

void RemoteHost::take_started(std::string_view body) {
  auto answer = parse_body<AgentStarted>(body);
  if (state_ != State::starting || answer.pids.size() != running_.size()) {
    throw AgentProtocolError(fmt::format("{} nodes started at a wrong time", answer.pids.size()));
  }
  pids_ = std::move(answer.pids);
  running_.assign(running_.size(), true);
  incomplete_ = running_;
  state_ = State::running;
}

void RemoteHost::take_exit(std::string_view body) {
  const std::uint32_t node = take_u32(body);
  const std::size_t rank = rank_of(node);
  const auto status = static_cast<int>(take_u32(body));
  const bool before_stop = take_u8(body) == 1;
  if (!running_[node]) throw AgentProtocolError(fmt::format("node {} exited twice", node));
  running_[node] = false;
  events_.ended({{rank, ExitStatus(status & 0xffff), before_stop ? BeforeStop::yes : BeforeStop::no}});
}

void RemoteHost::take_end(std::string_view body) {
  const std::uint32_t node = take_u32(body);
  const std::size_t rank = rank_of(node);
  if (running_[node]) throw AgentProtocolError(fmt::format("node {} ended before it exited", node));
  if (!incomplete_[node]) throw AgentProtocolError(fmt::format("node {} ended twice", node));
  incomplete_[node] = false;
  events_.complete(rank, OutputEnd::whole);
}

void RemoteHost::take_answer(std::string_view body) {
  const std::uint64_t id = take_u64(body);
  const bool is_answer = take_u8(body) == 1;
  events_.answered(id, is_answer ? std::string(body) : json_of_error(body));
}

void RemoteHost::show_lines(Output stream, std::string_view bytes) {
  std::string& unfinished = unfinished_[static_cast<std::size_t>(stream)];
  for (const char c : bytes) {
    if (c != '\n' && unfinished.size() < kSshLineMax) {
      if (c != '\r') unfinished += c;
      continue;
    }
    if (unfinished.empty()) continue;
    options_.say(unfinished);
    last_line_ = std::exchange(unfinished, "");
  }
}

void RemoteHost::fail(const std::vector<std::string>& problems) {
  for (std::string& unfinished : unfinished_) {
    if (!unfinished.empty()) options_.say(unfinished);
    unfinished.clear();
  }
  state_ = State::over;
  for (const std::string& problem : problems) options_.complain(problem);
  agent_.reset();
  std::vector<NodeEnd> lost;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (running_[i]) lost.push_back({options_.plan.nodes[i], ExitStatus::lost_with_host()});
  }
  running_.assign(running_.size(), false);
  for (std::size_t i = 0; i < incomplete_.size(); ++i) {
    if (incomplete_[i]) events_.complete(options_.plan.nodes[i], OutputEnd::cut_off);
  }
  incomplete_.assign(incomplete_.size(), false);
  if (!lost.empty()) events_.ended(lost);
}

std::size_t RemoteHost::local(std::size_t rank) const {
  const auto& nodes = options_.plan.nodes;
  return static_cast<std::size_t>(std::lower_bound(nodes.begin(), nodes.end(), rank) - nodes.begin());
}

std::size_t RemoteHost::rank_of(std::uint32_t node) const {
  if (state_ == State::running && node < options_.plan.nodes.size()) return options_.plan.nodes[node];
  throw AgentProtocolError(fmt::format("a report about node {} of {}", node, options_.plan.nodes.size()));
}

}  // namespace troupe::detail
