#include "tests/messages/message_samples.h"

#include <fmt/format.h>

#include <stdexcept>

#include "messages/values.h"
#include "tensor/create.h"

namespace troupe::testing {

namespace {

using namespace msg;

template <class Id>
Id id(std::uint64_t serial) {
  Id id{"trainer", 0xA1, serial};
  if constexpr (requires { id.secret; }) id.secret = {0xC1C2C3C4C5C6C7C8, 0xD1D2D3D4D5D6D7D8};
  return id;
}

Error sample_error() {
  Error error;
  error.code = ErrorCode::peer_down;
  error.message = "connection closed";
  error.peer = "ps0";
  error.incarnation = {1, 2};
  error.endpoint = "tcp://127.0.0.1:4000";
  error.operation = "rpc project";
  error.execution = Execution::never;
  error.elapsed_us = 1500;
  error.cause = "reset";
  error.hint = "restart it";
  error.exception_type = "std::runtime_error";
  error.exception = {"no_such_row", {0x77}, {std::byte{1}, std::byte{2}}};
  return error;
}

CallSite sample_site() {
  return {id<ContextId>(3), {1, 2}, 0xBEEF, Priority::high, DeviceMap{{Device::cuda(1), Device::cuda(0)}}};
}

/// A number and a tensor of two bytes, a reference and a boundary.
Payload sample_payload() {
  Payload payload = to_payload(nullptr, std::int32_t{5}, from_values<std::uint8_t>({10, 20}));
  payload.refs.push_back({id<RRefId>(4), id<ForkId>(5), "ps1", {3, 4}, "trainer", "tensor"});
  payload.boundary = BoundaryHeader{id<ContextId>(3), id<BoundaryId>(6), 1, RouteLegs{{"ps1", 8, "ps0", {7, 9}}}};
  return payload;
}

std::vector<AnyMessage> rpc_messages() {
  return {
      Call{{11}, "project", {12}, sample_payload(), sample_site()},
      RemoteCall{
          {11}, "project", {12}, sample_payload(), sample_site(), id<RRefId>(4), id<ForkId>(5), Sharing::concurrent},
      ValueCall{{11},
                "project",
                {12},
                sample_payload(),
                sample_site(),
                id<RRefId>(4),
                NewRRef{id<RRefId>(8), id<ForkId>(9), Sharing::turns}},
      Reply{to_payload(nullptr, std::int32_t{5}, from_values<std::uint8_t>({10, 20}))},
      Failure{sample_error(), true},
      CallCancelled{{7}},
  };
}

std::vector<AnyMessage> rref_messages() {
  const auto rref = id<RRefId>(4);
  const auto fork = id<ForkId>(5);
  return {
      RRefFetch{{rref, id<RRefId>(7)}, Wanted::type, sample_site()},
      RRefCreated{rref},
      RRefForked{rref, fork, "trainer"},
      RRefDeleted{rref, fork},
      RRefForkAck{{{rref, fork}}},
      RRefRevoked{rref, fork, sample_error()},
      RRefChanged{rref, 9},
  };
}

std::vector<AnyMessage> autograd_messages() {
  const auto context = id<ContextId>(3);
  const auto pass = id<PassId>(2);
  return {
      BackwardMark{context, pass, "trainer", {id<BoundaryId>(6)}, {id<RRefId>(4)}, true, true, {id<RRefId>(8)}},
      BackwardMarked{context, pass, {"ps0", "ps1"}, sample_error()},
      BackwardRun{context, pass},
      BackwardGradients{context,
                        pass,
                        id<BoundaryId>(6),
                        {Tensor(), from_values<float>({1.0F, 2.0F})},
                        BackwardRoute{{{"ps0", 8, "ps1", {6}}}, true}},
      BackwardFinished{context, pass, "ps0", sample_error()},
      ContextAborted{context, sample_error()},
      ContextReleased{context},
      ContextEntered{context},
  };
}

std::vector<AnyMessage> release_messages() {
  const auto pass = id<PassId>(2);
  return {BackwardRelease{id<ContextId>(3), pass}, BackwardReleased{pass}};
}

std::vector<AnyMessage> optim_messages() {
  const auto optimizer = id<OptimizerId>(21);
  const auto step = id<StepId>(22);
  const auto context = id<ContextId>(3);
  return {
      ShardCreate{
          optimizer,
          {{"sgd", {std::byte{1}, std::byte{2}}, {id<RRefId>(4), id<RRefId>(8)}, {0, 2}}, {"adam", {}, {}, {}}}},
      ShardCreated{optimizer, {1, 2}},
      ShardPrepare{
          optimizer, step, context, {{"ps0", {1, 2}}, {"ps1", {3, 4}}}, 20, {{{0.25, {}}, {0.5, 0.75}}, 0.5, 8.0}},
      ShardPrepared{step, 2},
      ShardCommit{optimizer, step, 20},
      ShardAbort{optimizer, step},
      ShardStep{optimizer, step, context, 20, {}},
      ShardStepped{step, 9},
      ShardQuery{optimizer, step, StepState::prepared},
      ShardOutcome{step, StepState::applied, 9},
      ShardReleased{optimizer, 23},
  };
}

std::vector<AnyMessage> optimizer_state_messages() {
  const auto optimizer = id<OptimizerId>(21);
  const auto step = id<StepId>(22);
  return {
      ShardLoad{
          optimizer, step, {{"ps0", {1, 2}}}, 20, {"groups.0.sgd.lr"}, {from_values<double>({0.25}, {})}, 3, false},
      ShardSave{optimizer, 9, true, 4},
      ShardSaved{9, 1, {"groups.0.parameters.2.step"}, {from_values<std::int64_t>({7}, {})}, 5},
      ShardJoin{id<OptimizerId>(24), optimizer},
      ShardWait{optimizer, 3},
      ShardReady{5, 2},
  };
}

std::vector<AnyMessage> membership_messages() {
  const Member member{"ps0", {1, 2}, "tcp://127.0.0.1:4000", "ps", 3, 5};
  const Contribution brought{{12}, to_payload(nullptr, std::int32_t{5})};
  return {
      MemberJoin{"ps0", {1, 2}, "tcp://127.0.0.1:4000", "ps", 3, 4},
      MemberList{5, {member, {"trainer", {3, 4}, "ipc://run/t", "trainer", 1, 2}}},
      MemberJoined{5, member},
      MemberLeft{6, "ps0", {1, 2}, sample_error()},
      ShutdownReady{"ps0", {1, 2}},
      ShutdownCount{2},
      ShutdownCounted{2, 3, 40},
      ShutdownAgreed{2},
      BarrierEntered{
          id<BarrierEntryId>(31), "gather", {"ps0", "trainer"}, "ps0", true, std::chrono::microseconds(1500), brought},
      BarrierPassed{{{"ps0", brought}}, {{"trainer", sample_error()}}},
      BarrierLeft{id<BarrierEntryId>(31)},
      SignedListKnown{6},
      SignedListFetch{5},
      SignedList{{std::byte{'t'}, std::byte{'r'}}},
      SignedCertificate{{std::byte{'t'}, std::byte{'c'}}},
      AuditHead{17, {std::byte{0x9f}, std::byte{0x3c}}},
  };
}

}  // namespace

std::vector<AnyMessage> every_message() {
  std::vector<AnyMessage> all;
  for (auto family : {&rpc_messages, &rref_messages, &autograd_messages, &optim_messages, &membership_messages,
                      &release_messages, &optimizer_state_messages}) {
    std::vector<AnyMessage> messages = family();
    std::move(messages.begin(), messages.end(), std::back_inserter(all));
  }
  return all;
}

Envelope envelope_for(const AnyMessage& message) {
  Envelope envelope{.from = "trainer", .to = "ps0/worker"};
  const Kind kind = info_of(message).kind;
  if (kind == Kind::request) envelope.request = {7};
  if (kind == Kind::reply) envelope.in_reply_to = {7};
  return envelope;
}

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  unsigned value = 0;
  int digits = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    const auto at = std::string_view("0123456789abcdef").find(c);
    if (at == std::string_view::npos) throw std::invalid_argument(fmt::format("not a hex digit: {}", c));
    value = value * 16 + static_cast<unsigned>(at);
    if (++digits % 2 == 0) bytes.push_back(static_cast<std::byte>(value & 0xFFU));
  }
  return bytes;
}

std::string to_hex(const Frames& frames) {
  std::string text;
  for (const Frame& frame : frames) {
    if (&frame != frames.data()) text += "\n";
    for (std::size_t i = 0; i < frame.bytes.size(); ++i) {
      text += fmt::format("{:02x}{}", std::to_integer<unsigned>(frame.bytes[i]),
                          i % 16 == 15 || i + 1 == frame.bytes.size() ? "\n" : " ");
    }
  }
  return text;
}

}  // namespace troupe::testing
