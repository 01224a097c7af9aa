// What processes of one cluster tell each other outside sessions: launcher and agents, tasks of an engine, control
// sockets, key rings.
#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "node/audit/audit_chain.h"
#include "node/audit/audit_comparison.h"
#include "node/control/control_socket.h"
#include "node/control/report_json.h"
#include "node/doctor/doctor_messages.h"
#include "node/engines/exchange_records.h"
#include "node/engines/sealed_secret.h"
#include "node/hosts/agent_frames.h"
#include "node/hosts/agent_messages.h"
#include "node/joining/rendezvous_content.h"
#include "node/keys/certificate.h"
#include "node/keys/introduction.h"
#include "node/keys/key_pair.h"
#include "node/keys/key_ring.h"
#include "node/keys/member_list.h"
#include "node/keys/signing.h"
#include "node/keys/word_lines.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/node/control/report_samples.h"

namespace troupe::fuzz {

namespace {

using namespace troupe::detail;

/// Bytes of a pipe in pieces: the size of each (1), its bytes.
void agent_stream(Bytes input) {
  Reader reader(input);
  AgentGreetingReader greeting;
  AgentFrameReader frames;
  bool greeted = false;
  try {
    while (!reader.at_end()) {
      const std::string_view piece = text_of(reader.bytes(reader.u8()));
      if (greeted) {
        frames.feed(piece);
      } else if (const auto rest = greeting.feed(piece)) {
        greeted = true;
        frames.feed(*rest);
      }
      while (const auto frame = frames.next()) expect(frame->body.size() <= input.size(), "a body was received");
    }
  } catch (const AgentProtocolError&) {
  }
}

std::vector<Input> agent_stream_seeds() {
  std::string stream = "Welcome to node17!\n" + std::string(kAgentGreeting);
  stream += encode_frame(AgentFrameKind::ping, "") + encode_frame(AgentFrameKind::answer, "12345678\1{}");
  std::string pieces;
  for (std::size_t at = 0; at < stream.size(); at += 17) {
    const std::string piece = stream.substr(at, 17);
    pieces += static_cast<char>(piece.size()) + piece;
  }
  return {input_of(pieces)};
}

template <class Message>
void agent_body_of(std::string_view text) {
  try {
    const Message message = parse_body<Message>(text);
    expect(parse_body<Message>(json_of(message)) == message, "a message read is a message that can be written");
  } catch (const AgentProtocolError&) {
  }
}

/// The body of a message between launcher and agent: which (1), then its text.
void agent_body(Bytes input) {
  Reader reader(input);
  const unsigned kind = reader.u8() % 6U;
  const std::string_view text = text_of(reader.rest());
  switch (kind) {
    case 0: return agent_body_of<AgentWelcome>(text);
    case 1: return agent_body_of<AgentPrepare>(text);
    case 2: return agent_body_of<AgentPrepared>(text);
    case 3: return agent_body_of<AgentStart>(text);
    case 4: return agent_body_of<AgentStarted>(text);
    default: return agent_body_of<AgentRefused>(text);
  }
}

std::vector<Input> agent_body_seeds() {
  std::vector<Input> seeds;
  const auto add = [&seeds](char kind, const std::string& text) { seeds.push_back(input_of(kind + text)); };
  add(0, json_of(AgentWelcome{"0.1", "b", 8}));
  add(1, json_of(AgentPrepare{"id",
                              "keys",
                              std::chrono::milliseconds(7),
                              {{"/x", "ab", 5, true}},
                              AgentSeed{"eth0", 29500, "29500-29599", {"a", "c"}}}));
  add(2, json_of(AgentPrepared{{0, 2}, "tcp://10.0.0.1:5"}));
  add(3, json_of(
             AgentStart{"tcp://10.0.0.1:5", "eth1", 3, {{"n0", 1, {"--a", "b"}, "/w", {{"K", "v"}}}}, {{"ALL", "x"}}}));
  add(4, json_of(AgentStarted{{7, 8}}));
  add(5, json_of(AgentRefused{{"one", "two"}}));
  return seeds;
}

/// The body of a message between `troupe doctor` and agents: which (1), then its text.
void doctor_body(Bytes input) {
  Reader reader(input);
  const unsigned kind = reader.u8() % 5U;
  const std::string_view text = text_of(reader.rest());
  switch (kind) {
    case 0: return agent_body_of<HostFacts>(text);
    case 1: return agent_body_of<ListenOrder>(text);
    case 2: return agent_body_of<Listening>(text);
    case 3: return agent_body_of<ReachOrder>(text);
    default: return agent_body_of<Reached>(text);
  }
}

std::vector<Input> doctor_body_seeds() {
  const std::string token(kTokenSize, 't');
  std::vector<Input> seeds;
  const auto add = [&seeds](char kind, const std::string& text) { seeds.push_back(input_of(kind + text)); };
  add(0, json_of(HostFacts{.system = "Linux", .zmq = "4.3.4", .sodium = "1.0.18"}));
  add(1, json_of(ListenOrder{"eth0", "tcp://10.0.0.1:5", {"a"}, "keys", 5, "5-6", "7-8", token}));
  add(2, json_of(Listening{"", "10.0.0.2", 5, true, 7, {2, 1}, {2, 2}}));
  add(3, json_of(ReachOrder{{{"10.0.0.2", 5, true, 7, token}}, 7'500}));
  add(4, json_of(Reached{{{"10.0.0.1", {ReachOutcome::reached, "", 400}, {ReachOutcome::failed, "no", 0}, {}}}}));
  return seeds;
}

/// What a task of an engine finds in the job's directory: which (1), then its text.
void exchange_record(Bytes input) {
  constexpr std::size_t kMembersMax = 8;
  Reader reader(input);
  const bool is_task = reader.u8() % 2U == 0;
  const std::string_view text = text_of(reader.rest());
  try {
    if (is_task) {
      const TaskRecord record = parse_task(text);
      expect(parse_task(text_of(record)) == record, "a record read is a record that can be written");
    } else {
      const RunRecord record = parse_run(text, kMembersMax);
      expect(record.members.size() <= kMembersMax, "no more members than were asked for");
      expect(parse_run(text_of(record), kMembersMax) == record, "a record read is a record that can be written");
    }
  } catch (const std::invalid_argument&) {
  }
}

std::vector<Input> exchange_record_seeds() {
  TaskRecord task{.job = "slurm-mnist-7.0", .rank = 2, .name = "trainer1", .host = "node17", .key = {}, .answers = {}};
  task.key.bytes.fill(std::byte{0x17});
  const std::string without = text_of(task);
  task.answers = task.key;
  const RunRecord run{.job = task.job,
                      .cluster_id = "0123456789abcdef",
                      .seed = "tcp://192.0.2.7:40123",
                      .members = {{"ps", task.key, {}}, {"trainer0", {}, {}}}};
  return {input_of('\0' + without), input_of('\0' + text_of(task)), input_of('\1' + text_of(run))};
}

/// The bytes of a ring; the members' keys are valid or not, as in a pipe that somebody else has written.
void key_ring(Bytes input) {
  const auto ring = KeyRing::from_bytes(input);
  if (!ring.ok()) return;
  const LockedBytes again = ring.value().to_bytes();
  expect(std::ranges::equal(Bytes(again.bytes()), input), "a ring has one form");
}

std::vector<Input> key_ring_seeds() {
  const std::array<NodeName, 3> names{"ps", "trainer0", "trainer1"};
  std::vector<Input> seeds;
  for (const KeyRing& ring : make_run_keys(names)) {
    const LockedBytes bytes = ring.to_bytes();
    seeds.push_back(input_of(Bytes(bytes.bytes())));
  }
  return seeds;
}

/// The lines of a list before its signature, which is right: what is before it must not hurt whoever reads it first.
void member_list(Bytes input) {
  constexpr std::array<std::byte, SigningKey::kSeedBytes> kSeed{};
  const SigningKey key = SigningKey::from_seed(kSeed);
  const std::string lines(text_of(input));
  const std::string text = lines + "signature " + hex_of(key.sign(lines).bytes) + "\n";
  MemberList list;
  try {
    list = MemberList::parse(text, key.verifying_key());
  } catch (const std::invalid_argument&) {
    return;
  }
  expect(MemberList::parse(list.signed_by(key), key.verifying_key()) == list, "a list is what was read");
  for (const MemberList::Member& member : list.members) expect(list.find(member.name) == &member, "names are unique");
}

std::vector<Input> member_list_seeds() {
  const std::string head = "troupe-members 1\ncluster " + std::string(32, '0') + "\nserial 7\n";
  const std::string ps = "member ps 01" + std::string(62, 'a') + "\n";
  const std::string trainer =
      "member trainer0 02" + std::string(62, 'b') + " until 2027-01-31 calls eval,stats.* owns -\n";
  return {input_of(head), input_of(head + ps), input_of(head + ps + trainer)};
}

/// The lines of a certificate before its signature, which is right.
void certificate(Bytes input) {
  constexpr std::array<std::byte, SigningKey::kSeedBytes> kSeed{};
  const SigningKey key = SigningKey::from_seed(kSeed);
  const std::string lines(text_of(input));
  const std::string text = lines + "signature " + hex_of(key.sign(lines).bytes) + "\n";
  try {
    const Certificate read = Certificate::parse(text, key.verifying_key());
    expect(Certificate::parse(read.signed_by(key), key.verifying_key()) == read, "a certificate is what was read");
  } catch (const std::invalid_argument&) {
  }
}

std::vector<Input> certificate_seeds() {
  const std::string head = "troupe-certificate 1\ncluster " + std::string(32, '0') + "\nserial 7\n";
  const std::string member = "member trainer0 02" + std::string(62, 'b');
  return {input_of(head), input_of(head + member + "\n"),
          input_of(head + member + " until 2027-01-31 calls eval,stats.* owns - reads -\n")};
}

/// What comes to a join endpoint or from it (1), and its bytes: sealed for nobody, or by somebody who knows the key.
void introduction(Bytes input) {
  static const KeyPair member = KeyPair::from_secret(std::array<std::byte, KeyPair::kSecretBytes>{std::byte{1}});
  static const KeyPair newcomer = KeyPair::from_secret(std::array<std::byte, KeyPair::kSecretBytes>{std::byte{2}});
  Reader reader(input);
  const unsigned kind = reader.u8() % 4U;
  if (kind == 0) (void)Introduction::open(reader.rest(), member);
  if (kind == 1) (void)IntroductionAnswer::open(reader.rest(), input, newcomer, member.public_key());
  if (kind < 2) return;
  const std::string said(text_of(reader.rest()));
  const auto request = Introduction{newcomer.public_key(), said}.sealed_to(member.public_key());
  const auto opened = Introduction::open(request.value(), member);
  expect(opened.has_value() == (!said.empty() && said.size() <= Certificate::kBytesMax), "what fits is read");
  const IntroductionAnswer answer{kind == 2 ? std::nullopt : std::optional(ErrorCode::not_authorized), said};
  const auto sealed = answer.sealed(request.value(), member, newcomer.public_key());
  const auto read = IntroductionAnswer::open(sealed.value(), request.value(), newcomer, member.public_key());
  expect(read && read->refused == answer.refused, "an answer is read");
  expect(read->text == said.substr(0, IntroductionAnswer::kTextMax), "an answer says what was said");
}

std::vector<Input> introduction_seeds() {
  const std::string head("TRPI\1\0\x60\0", 8);
  return {input_of(std::string(1, '\0') + head + std::string(96, 'x')),
          input_of('\1' + head + "TROUPEINTRO" + std::string(85, 'x')), input_of("\2troupe-certificate 1\n"),
          input_of("\3troupe-certificate 1\n")};
}

/// An answer of a control socket: which (1), then its text. Any process of this user may have given it.
void report(Bytes input) {
  Reader reader(input);
  const unsigned kind = reader.u8() % 4U;
  const std::string_view text = text_of(reader.rest());
  try {
    if (kind == 0) (void)json_of(parse_node_report(text));
    if (kind == 1) (void)json_of(parse_stack_report(text));
    if (kind == 2) (void)json_of(parse_launched_node(text));
    if (kind == 3) (void)json_of(parse_launch_report(text));
  } catch (const ReportError&) {
  }
}

std::vector<Input> report_seeds() {
  return {input_of('\0' + json_of(testing::sample_node_report())), input_of('\1' + json_of(StackReport{})),
          input_of('\2' + json_of(LaunchedNode{})), input_of('\3' + json_of(LaunchReport{})),
          input_of('\0' + json_of_error("not joined"))};
}

void control_name(Bytes input) {
  const auto name = parse_control_name(text_of(input));
  if (name) expect(name->text() == text_of(input), "a name has one form");
}

std::vector<Input> control_name_seeds() {
  return {input_of(ControlName{.cluster_id = "4f2a", .node = "trainer0"}.text()),
          input_of(ControlName{.cluster_id = "4f2a", .node = ""}.text())};
}

/// The file through which nodes find each other.
void rendezvous(Bytes input) {
  const auto content = RendezvousContent::parse(text_of(input));
  if (content) expect(content->text() == text_of(input), "a file has one form");
}

std::vector<Input> rendezvous_seeds() {
  const Peer ps{"ps0", {0x0123456789abcdef, 7}, "tcp://127.0.0.1:40123"};
  const Peer trainer{"trainer.0", {1, 2}, "ipc:///run/my nodes/a"};
  return {input_of(RendezvousContent{"mnist", {}}.text()), input_of(RendezvousContent{"mnist", {ps, trainer}}.text())};
}

/// Lines of an audit log, as whoever may write to the file has left them.
void audit_lines(std::string_view text) {
  AuditComparison comparison;
  AuditChain chain("a");
  chain.go_on_after(text);
  AuditCheck whole;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    (void)whole.take(line, true);
    AuditCheck check;
    if (!check.take(line, true).empty() || check.node().empty()) continue;  // not a line of a log
    comparison.has("a", check.number(), check.head(), check.before_first());
    if (check.told()) comparison.told("b", *check.told(), "b.audit:1");
    for (const std::uint64_t number : {check.number(), check.number() - 1, check.number() + 1})
      comparison.told("c", {"a", number, hex_of(check.head())}, "c.audit:1");
  }
  (void)whole.end();
  (void)comparison.verdict_on("a");
  (void)comparison.not_given();
}

/// Lines of an audit log (1: 0), or what peers said that goes into one.
void audit_log(Bytes input) {
  Reader reader(input);
  const unsigned kind = reader.u8();
  if (kind == 0) return audit_lines(text_of(reader.rest()));
  const std::uint64_t number = reader.u64();
  const std::string said(text_of(reader.rest()));
  const auto event = static_cast<AuditEvent>(kind % (static_cast<unsigned>(AuditEvent::lost) + 1));
  AuditChain chain("a");
  AuditCheck check;
  for (int i = 0; i < 2; ++i) {
    const std::string line = chain.line_of({{event, said, said, said, number, said}, number, {}});
    const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f'; };
    expect(line.back() == '\n' && std::ranges::all_of(line.begin(), line.end() - 1, is_plain), "no text ends a line");
    expect(check.take(std::string_view(line).substr(0, line.size() - 1), true).empty(),
           "a line follows the one before");
    chain.written(line);
  }
}

std::vector<Input> audit_log_seeds() {
  AuditChain chain("a");
  std::string text;
  const auto add = [&](const AuditEntry& entry) {
    const std::string line = chain.line_of({entry, 1, {}});
    chain.written(line);
    text += line;
  };
  add({.event = AuditEvent::opened});
  add({.event = AuditEvent::head, .peer = "b", .line = 7, .hash = hex_of(audit_hash("x"))});
  add({.event = AuditEvent::refused, .reason = "no member has its key", .address = "10.0.0.7"});
  return {input_of('\0' + text), input_of("\4" + std::string(8, '\1') + "no member"),
          input_of("\7" + std::string(8, '\1') + std::string(64, 'a'))};
}

}  // namespace

std::vector<Target> host_targets() {
  return {
      {"agent_stream", "node/hosts/agent_frames.cc", agent_stream, agent_stream_seeds},
      {"agent_body", "node/hosts/agent_messages.cc", agent_body, agent_body_seeds},
      {"doctor_body", "node/doctor/doctor_messages.cc", doctor_body, doctor_body_seeds},
      {"exchange_record", "node/engines/exchange_records.cc", exchange_record, exchange_record_seeds},
      {"key_ring", "node/keys/key_ring.cc", key_ring, key_ring_seeds, 1024},
      {"member_list", "node/keys/member_list.cc node/keys/member_lines.cc", member_list, member_list_seeds},
      {"certificate", "node/keys/certificate.cc node/keys/member_lines.cc", certificate, certificate_seeds, 1200},
      {"introduction", "node/keys/introduction.cc", introduction, introduction_seeds, 4200},
      {"report", "node/control/report_json.cc", report, report_seeds, 8192},
      {"rendezvous", "node/joining/rendezvous_content.cc", rendezvous, rendezvous_seeds, 1024},
      {"audit_log", "node/audit/audit_chain.cc node/audit/audit_comparison.cc", audit_log, audit_log_seeds, 2048},
      {"control_name", "node/control/control_socket.cc", control_name, control_name_seeds, 256},
  };
}

}  // namespace troupe::fuzz
