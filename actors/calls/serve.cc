#include "actors/calls/serve.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <new>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "actors/contexts/contexts.h"
#include "actors/core/guarded.h"
#include "actors/profile/events.h"
#include "actors/profile/recording.h"
#include "actors/references/references.h"
#include "actors/task.h"
#include "autograd/call_path.h"

namespace troupe::detail {
namespace {

/// One of the runtime's own functions, and what its caller gets of the values of this node.
struct OwnFunction {
  std::string_view name;
  bool leaves_values = false;  ///< references, or values that outlast the call
  bool copies = false;
};

/// Those that work only with values, contexts and optimizers whose ids their caller was given, in alphabetical order.
/// Every other function needs a grant, also a new one of the runtime: it may begin something, or find what nobody gave
/// to its caller.
constexpr auto kNeedNoGrant = std::to_array<OwnFunction>({
    {.name = "troupe.gradient", .copies = true},
    {.name = "troupe.gradient_squares"},  // a norm for each parameter
    {.name = "troupe.gradients", .leaves_values = true, .copies = true},
    {.name = "troupe.pipeline_fail"},
    {.name = "troupe.pipeline_join"},
    {.name = "troupe.pipeline_loss"},  // one number
    {.name = "troupe.pipeline_seed", .copies = true},
    {.name = "troupe.pipeline_settle"},  // the zero of its caller
    {.name = "troupe.prepare_in_pass"},
    {.name = "troupe.seeded_root", .copies = true},
    {.name = "troupe.snapshot", .copies = true},
    {.name = "troupe.snapshot_of_shard", .copies = true},
    {.name = "troupe.snapshot_of_states", .copies = true},
    {.name = "troupe.stage", .copies = true},
    {.name = "troupe.stage_shard", .copies = true},
    {.name = "troupe.unused"},  // names and numbers
});
static_assert(std::ranges::is_sorted(kNeedNoGrant, {}, &OwnFunction::name));

/// Of the runtime's member functions, which need no grant either, those that give something else than copies.
constexpr auto kMembers = std::to_array<OwnFunction>({
    {.name = "troupe.embedding_parameter", .leaves_values = true},  // a reference to it
    {.name = "troupe.recording_end"},                               // times of calls, as the following
    {.name = "troupe.recording_now"},
    {.name = "troupe.recording_take"},
});
static_assert(std::ranges::is_sorted(kMembers, {}, &OwnFunction::name));

/// Returns nullopt if `function` needs a grant.
std::optional<OwnFunction> own_function(const RegisteredFunction& function) {
  if (!function.name.starts_with("troupe.")) return std::nullopt;
  const auto listed = [&](const auto& table) -> std::optional<OwnFunction> {
    const auto found = std::ranges::lower_bound(table, std::string_view(function.name), {}, &OwnFunction::name);
    return found != table.end() && found->name == function.name ? std::optional(*found) : std::nullopt;
  };
  if (!function.is_member) return listed(kNeedNoGrant);
  if (const auto known = listed(kMembers)) return known;
  return OwnFunction{.name = function.name, .copies = !function.answers_small};
}

/// Returns who has to grant the call, as a hint for whoever may not make it; empty: it is granted. The runtime's own
/// functions that run on a value need no grant: whoever holds the value was given it.
std::string_view missing_grant(const NodeCore& node, const NodeName& caller, const RegisteredFunction& function) {
  if (caller == node.name() || own_function(function)) return {};
  if (!node.listed_grants().may_call(caller, function.name))
    return "the list of members does not grant it: its signer can, with `troupe keys grant`";
  if (!node.call_grants().may_call(caller, function.name))
    return "grant it where this node is configured: `calls` of its [[role]], or NodeOptions::call_grants";
  return {};
}

/// Returns the error if the list of members withholds `right` from `peer`. A node has all rights on its own values.
std::optional<Error> error_without(ValueRight right, const NodeCore& node, const NodeName& peer) {
  if (peer == node.name() || node.listed_grants().has(peer, right)) return std::nullopt;
  const bool owns = right == ValueRight::owns;
  Error error = node.error(
      ErrorCode::not_authorized, node.name(), {},
      fmt::format("{} may not {} values {} {}", peer, owns ? "make" : "read", owns ? "on" : "of", node.name()));
  const char* word = owns ? "owns" : "reads";
  error.hint =
      fmt::format("the list of members withholds `{}`: its signer grants it with `troupe keys grant {} --{} \"*\"`",
                  word, peer, word);
  return error;
}

/// Returns the error if the call needs more on values of this node than the grant of its function, and the list of
/// members withholds that from its caller. Calling a function that needs no grant is a fetch of another form.
std::optional<Error> error_without_rights(const NodeCore& node, const NodeName& caller,
                                          const RegisteredFunction& function, Lasting lasting) {
  const OwnFunction gives = own_function(function).value_or(OwnFunction{});
  if (lasting == Lasting::as_value || gives.leaves_values) {
    if (auto error = error_without(ValueRight::owns, node, caller)) return error;
  }
  if (lasting != Lasting::as_value && gives.copies) return error_without(ValueRight::reads, node, caller);
  return std::nullopt;
}

/// As open_call. Throws std::bad_alloc; then `arguments` may still have references.
Result<ServedCall> try_to_open(NodeCore& node, const Delivery& delivery, const WantedFunction& wanted,
                               msg::Payload& arguments, const msg::CallSite& site, Lasting lasting,
                               std::optional<Error> already_refused) {
  const std::string& name = wanted.name;
  const std::string operation = "rpc " + name;
  // Releases its references here: a caller that has stopped waiting does not learn of the refusal.
  const auto refuse_with = [&](Error error) {
    arguments.boundary.reset();  // no graph on this node will reach it
    const PayloadReader unread(node.shared_from_this(), delivery.from, std::move(arguments));
    error.operation = operation;
    error.execution = Execution::never;
    if (delivery.from != node.name()) node.tell_refused_call(delivery.from, error);
    return error;
  };
  const auto refuse = [&](ErrorCode code, std::string message) {
    return refuse_with(node.error(code, node.name(), {}, std::move(message)));
  };
  if (already_refused) return refuse_with(*std::move(already_refused));
  const NodeLife caller{delivery.from, delivery.incarnation};
  if (node.lives().is_over(caller)) return refuse(ErrorCode::cancelled, fmt::format("{} is gone", caller.name));
  auto function = node.functions().find_shared(wanted.key);
  if (!function) {
    Error error =
        refuse(ErrorCode::no_such_function, fmt::format("\"{}\" is not in the registry of {}", name, node.name()));
    error.hint = fmt::format("it serves: {}", fmt::join(node.functions().names(), ", "));
    return error;
  }
  if (const std::string_view hint = missing_grant(node, delivery.from, *function); !hint.empty()) {
    Error error = refuse(ErrorCode::not_authorized,
                         fmt::format("{} may not call \"{}\" of {}", delivery.from, function->name, node.name()));
    error.hint = hint;
    return error;
  }
  if (auto error = error_without_rights(node, delivery.from, *function, lasting)) return refuse_with(*std::move(error));
  if (function->fingerprint != wanted.fingerprint) {
    Error error = refuse(ErrorCode::bad_argument,
                         fmt::format("\"{}\" has other parameter or result types on {}", name, node.name()));
    error.hint = "build both programs from the same declaration";
    return error;
  }
  if (site.context) {
    if (auto full = node.contexts().joined(*site.context, delivery.from)) return refuse_with(*std::move(full));
  }
  auto serving = lasting == Lasting::as_value
                     ? node.served_calls().begin_lasting(caller, delivery.envelope.request, delivery.due, operation)
                     : node.served_calls().begin(caller, delivery.envelope.request, operation);
  if (node.lives().is_over(caller)) serving->caller_gone();
  auto scope = served_scope(node, delivery, site);
  scope->stop = serving->stop_token();
  return ServedCall{node.shared_from_this(),
                    operation,
                    std::move(function),
                    std::make_shared<PayloadReader>(node.shared_from_this(), delivery.from, std::move(arguments)),
                    std::move(scope),
                    delivery.from,
                    delivery.answer,
                    std::move(serving),
                    delivery.credit};
}

bool is_death(ErrorCode code) {
  return code == ErrorCode::peer_down || code == ErrorCode::peer_restarted || code == ErrorCode::owner_died;
}

/// Returns the error of a function that did not handle the failure `below` of one of its own calls: the first failure
/// is the cause. A death keeps its code and the dead node's name through any number of calls, and says which calls
/// those were: the operation is that of this call, which ran here. The end of the context in which the call runs keeps
/// its code where the function met it itself, as those of the runtime do: it has ended for the caller, too.
Error caused_by(const ServedCall& call, const Error& below) {
  if (is_death(below.code)) {
    constexpr std::string_view kCalled = "had called it while it ran";
    Error error = below;
    const std::string run = fmt::format("{} for {}", call.operation, call.caller);
    error.message += below.message.find(kCalled) == std::string::npos
                         ? fmt::format(": {} {} {}", call.node->name(), kCalled, run)
                         : fmt::format(", and {} {}", call.node->name(), run);
    error.cause = below.cause.empty() ? below.text() : below.cause;
    error.operation = call.operation;
    error.execution = Execution::yes;
    return error;
  }
  const auto& context = call.scope->context;
  const bool ends_context = below.code == ErrorCode::context_aborted && context &&
                            below.operation == fmt::format("context {}", context->text());
  Error error =
      call.node->error(ends_context ? ErrorCode::context_aborted : ErrorCode::remote_exception, call.node->name(),
                       call.operation, fmt::format("{} failed", below.operation.empty() ? "a call" : below.operation));
  if (!below.peer.empty()) error.message += " on " + below.peer;
  error.cause = below.cause.empty() ? below.text() : below.cause;
  if (!ends_context) error.exception_type = "troupe::RemoteError";
  error.execution = Execution::yes;
  return error;
}

const ExceptionTypes* exceptions_of(const ServedCall& call) { return call.node->functions().exceptions().get(); }

Error failed(const ServedCall& call, Error error) {
  if (!is_death(error.code)) error.incarnation = call.node->incarnation();
  // A caller that has stopped waiting has cancelled what the function called, too: no failure, as of a dropped stream.
  spdlog::log(call.scope->stop.stop_requested() ? spdlog::level::debug : spdlog::level::warn,
              "[{}] {} for {} failed: {}{}", call.node->name(), call.operation, call.caller,
              is_death(error.code) ? fmt::format("{} of {}: ", name_of(error.code), error.peer) : "",
              for_log(error.message));
  return error;
}

/// Returns the error for the failure of the Future or Task that the function returned.
Error failed_later(const ServedCall& call, const Error& error) {
  if (!error.peer.empty()) return failed(call, caused_by(call, error));
  Error own = error;  // thrown by the function itself
  own.peer = call.node->name();
  own.operation = call.operation;
  own.execution = Execution::yes;  // also if the pool refused to go on with it
  return failed(call, std::move(own));
}

/// Returns the error of a call for which nobody waits any more; nullopt if its caller may wait. `before`: what the call
/// had not come to.
std::optional<Error> unwanted_before(const char* before, const ServedCall& call) {
  const bool is_stopped = call.scope->stop.stop_requested();
  if (!is_stopped && (!call.scope->due || call.node->clock().now() < *call.scope->due)) return std::nullopt;
  return call.node->error(is_stopped ? ErrorCode::cancelled : ErrorCode::timeout, call.node->name(), call.operation,
                          fmt::format("its caller had stopped waiting before it could {}", before));
}

/// Returns the error for the exception being handled. `began`: the function, and not the decoding of its arguments,
/// threw it.
Error error_of_run(const ServedCall& call, bool began) {
  try {
    throw;
  } catch (const RemoteError& exception) {
    return caused_by(call, exception.error());
  } catch (const std::bad_alloc&) {
    return call.node->error(ErrorCode::resource_exhausted, call.node->name(), call.operation, "out of memory");
  } catch (const DecodeError& exception) {
    if (!began) return call.node->error(ErrorCode::decode, call.node->name(), call.operation, text_of(exception));
  } catch (...) {  // described below: the caller handles it still
  }
  return error_of_current_exception(call.node->name(), call.operation, exceptions_of(call));
}

/// Begins the event of the function, if somebody records it. Returns `done`, which ends it first.
ValueHandler ending_event(const ServedCall& call, ValueHandler done) {
  OpenEvent event(*call.scope, EventKind::function, call.function->name);
  if (!event.is_recorded()) return done;
  try {
    const auto shared = std::make_shared<OpenEvent>(std::move(event));
    return [shared, done](Result<ValueBox> result) {
      shared->end();
      done(std::move(result));
    };
  } catch (const std::bad_alloc&) {  // the call goes on without its event
    call.node->recordings().lose();
    return done;
  }
}

}  // namespace

std::vector<std::string_view> functions_without_grants() {
  std::vector<std::string_view> names;
  std::ranges::transform(kNeedNoGrant, std::back_inserter(names), &OwnFunction::name);
  std::ranges::transform(kMembers, std::back_inserter(names), &OwnFunction::name);
  return names;
}

Result<ServedCall> open_call(NodeCore& node, const Delivery& delivery, const WantedFunction& wanted,
                             msg::Payload arguments, const msg::CallSite& site, Lasting lasting,
                             std::optional<Error> already_refused) {
  try {
    return try_to_open(node, delivery, wanted, arguments, site, lasting, std::move(already_refused));
  } catch (const std::bad_alloc&) {
    std::ignore = node.references().received(arguments.refs, delivery.from);
    throw;
  }
}

bool refuse_without(ValueRight right, NodeCore& node, const Delivery& delivery, std::string_view operation) {
  auto error = error_without(right, node, delivery.from);
  if (!error) return false;
  error->operation = operation;
  error->execution = Execution::never;
  node.tell_refused_call(delivery.from, *error);
  delivery.answer.fail(*std::move(error));
  return true;
}

std::string for_log(std::string_view text) {
  constexpr std::size_t kLoggedMax = 4U << 10U;
  if (text.size() <= kLoggedMax) return std::string(text);
  std::size_t end = kLoggedMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // inside a UTF-8 character
  return fmt::format("{} [{} more bytes]", text.substr(0, end), text.size() - end);
}

std::optional<Error> unwanted(const ServedCall& call) {
  auto error = unwanted_before("start", call);
  if (error) error->execution = Execution::never;
  return error;
}

std::optional<Error> run_for(const ServedCall& call, const std::function<void()>& job) {
  try {
    const CallPathGuard guard(call.scope->path, call.scope->counters->next_vertex);
    const RecordedThread recorded(*call.scope);
    job();
    return std::nullopt;
  } catch (...) {
    const bool began = call.arguments == nullptr || call.arguments->function_began();
    Error error = error_of_run(call, began);
    error.execution = began ? Execution::yes : Execution::never;
    return failed(call, std::move(error));
  }
}

void run_function(const std::shared_ptr<const ServedCall>& call, TargetObject target, ValueHandler done) {
  call->begin();
  if (auto error = unwanted(*call)) return done(*std::move(error));
  call->serving->runs();
  if (call->node->recordings().any()) done = ending_event(*call, std::move(done));
  std::variant<ValueBox, LaterValue> outcome;
  const auto failure = run_for(*call, [&] {
    outcome = call->function->run({call->node->future_home(), call->scope, std::move(target.turn)}, *call->arguments,
                                  target.object);
  });
  if (failure) return done(*failure);
  if (auto* value = std::get_if<ValueBox>(&outcome)) return done(std::move(*value));
  call->serving->answers_later(call->scope->due);
  std::get<LaterValue>(outcome)([call, done = std::move(done)](Result<ValueBox> value) {
    done(value ? std::move(value) : Result<ValueBox>(failed_later(*call, value.error())));
  });
}

std::shared_ptr<ScopeState> served_scope(NodeCore& node, const Delivery& delivery, const msg::CallSite& site) {
  auto scope = std::make_shared<ScopeState>();
  scope->node = node.shared_from_this();
  scope->due = delivery.due;
  scope->context = site.context;
  scope->path = std::make_shared<CallPath>(site.path);
  scope->trace = site.trace;
  scope->priority = site.priority;
  if (site.answer_devices) scope->answer_devices = std::make_shared<const DeviceMap>(*site.answer_devices);
  scope->caller = delivery.from;
  return scope;
}

std::optional<Error> encode_for(const ServedCall& call, const std::function<void()>& encode) {
  Error error;
  try {
    const CallPathGuard guard(call.scope->path, call.scope->counters->next_vertex);
    encode();
    return std::nullopt;
  } catch (const RemoteError& exception) {
    error = exception.error();
  } catch (const EncodeError& exception) {
    error = error_of_encoding(*call.node, exception);
  } catch (const std::bad_alloc&) {
    error = call.node->error(ErrorCode::resource_exhausted, call.node->name(), {}, "no memory for the answer");
  } catch (...) {
    error = error_of_current_exception(call.node->name(), {}, nullptr);
    if (error.code != ErrorCode::device_out_of_memory) error.code = ErrorCode::not_serializable;
  }
  error.operation = call.operation;
  error.execution = Execution::yes;
  return error;
}

void answer_with_value(const ServedCall& call, const ValueBox& value) {
  if (!call.answer.expected()) return;
  if (auto error = unwanted_before("answer", call)) {
    error->execution = Execution::yes;
    return call.answer.fail(*std::move(error));
  }
  const auto failure = encode_for(call, [&] {
    PayloadWriter writer(call.scope, call.answer.requester(), call.scope->answer_devices);
    value.ops->save(writer.archive(), value.value.get());
    msg::AnyMessage reply = msg::Reply{writer.finish("result", call.operation)};
    call.answer.answer(std::move(reply), writer.hand_over().undo);
  });
  if (failure) call.answer.fail(*failure);
}

}  // namespace troupe::detail
