#include "actors/references/fetches.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors/calls/serve.h"
#include "actors/contexts/contexts.h"
#include "actors/core/error_not_run.h"
#include "actors/core/guarded.h"
#include "actors/core/peer_accounts.h"
#include "actors/references/references.h"
#include "autograd/call_path.h"

namespace troupe::detail {
namespace {

/// One answer in the making. Used by one job at a time.
class Fetching final : public std::enable_shared_from_this<Fetching> {
 public:
  Fetching(ServedCall call, NodeLife holder, msg::RRefFetch fetch)
      : call_(std::move(call)),
        holder_(std::move(holder)),
        fetch_(std::move(fetch)),
        label_(call_.operation + " for " + call_.caller),
        writer_(call_.scope, holder_, call_.scope->answer_devices) {}

  void begin() {
    go_on();
    cancelled_.emplace(call_.scope->stop, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->withdraw();
    });
  }

 private:
  void go_on() {
    const RRefId& rref = fetch_.rrefs[done_];
    References& references = call_.node->references();
    const TurnId turn = references.next_turn();
    {
      const std::lock_guard lock(mutex_);
      waits_ = {rref, turn};
    }
    if (fetch_.wanted == msg::Wanted::cached) {
      references.copy(rref, turn, holder_,
                      [self = shared_from_this()](const auto& value, std::uint64_t version, auto use) {
                        self->version_ = version;
                        self->on_pool(value, std::move(use));
                      });
    } else {
      const UseKind kind = fetch_.wanted == msg::Wanted::type ? UseKind::looks : UseKind::reads;
      references.use(rref, turn, {kind, label_, holder_}, [self = shared_from_this()](const auto& value, auto use) {
        self->on_pool(value, std::move(use));
      });
    }
    if (call_.scope->stop.stop_requested()) withdraw();  // the stop callback may have found the use before this one
  }

  /// Any thread may call it, and more than once.
  void withdraw() {
    std::pair<RRefId, TurnId> waits;
    {
      const std::lock_guard lock(mutex_);
      waits = waits_;
    }
    try {
      call_.node->references().withdraw(waits.first, waits.second);
    } catch (const std::bad_alloc&) {  // in a stop callback, where no exception may end
      call_.node->fail(failure_of_current_exception("a cancellation"));
    }
  }

  void on_pool(const Result<ValueBox>& value, std::shared_ptr<ValueUse> use) {
    call_.begin();
    if (!value) return call_.answer.fail(value.error());
    call_.node->run(
        label_, [self = shared_from_this(), box = value.value(), use = std::move(use)] { self->save(box); },
        [self = shared_from_this()](const Error& refused) { self->call_.answer.fail(refused); });
  }

  void save(const ValueBox& box) {
    if (const auto error = unwanted(call_)) return call_.answer.fail(*error);
    const bool is_last = done_ + 1 == fetch_.rrefs.size();
    if (fetch_.wanted == msg::Wanted::element) {
      if (box.ops->advance == nullptr) {
        return call_.answer.fail(call_.node->error(ErrorCode::bad_argument, call_.node->name(), call_.operation,
                                                   "the value is not a stream"));
      }
      if (const auto failure = run_for(call_, [&] { box.ops->advance(box.value.get()); }))
        return call_.answer.fail(*failure);
    }
    const auto failure = encode_for(call_, [&] {
      switch (fetch_.wanted) {
        case msg::Wanted::value: box.ops->save(writer_.archive(), box.value.get()); break;
        case msg::Wanted::cached:
          writer_.archive()(version_);
          box.ops->save(writer_.archive(), box.value.get());
          break;
        case msg::Wanted::type: writer_.archive()(box.ops->wire_name()); break;
        case msg::Wanted::element: box.ops->save_element(writer_.archive(), box.value.get()); break;
      }
      if (!is_last) return;
      msg::AnyMessage reply = msg::Reply{writer_.finish("value", call_.operation)};
      call_.answer.answer(std::move(reply), writer_.hand_over().undo);
    });
    if (failure) return call_.answer.fail(*failure);
    if (is_last) return;
    ++done_;
    go_on();
  }

  const ServedCall call_;
  const NodeLife holder_;  // the requester
  const msg::RRefFetch fetch_;
  const std::string label_;  // for reports: "to_here for trainer"
  PayloadWriter writer_;
  std::size_t done_ = 0;
  std::uint64_t version_ = 0;  // of the present value
  std::mutex mutex_;
  std::pair<RRefId, TurnId> waits_;                                     // guarded by mutex_: the latest requested use
  std::optional<std::stop_callback<std::function<void()>>> cancelled_;  // set once, by `begin`
};

/// An answer has each value once: with repeated names a few bytes would ask for any amount of them.
bool names_one_twice(std::vector<RRefId> rrefs) {
  std::ranges::sort(rrefs);
  return std::ranges::adjacent_find(rrefs) != rrefs.end();
}

const char* operation_of(msg::Wanted wanted) {
  switch (wanted) {
    case msg::Wanted::value: return "to_here";
    case msg::Wanted::cached: return "cached";
    case msg::Wanted::type: return "type";
    case msg::Wanted::element: return "next";
  }
  return nullptr;
}

}  // namespace

void serve_fetch(NodeCore& node, const Delivery& delivery, msg::RRefFetch fetch) {
  const char* operation = operation_of(fetch.wanted);
  if (operation == nullptr) {
    return delivery.answer.fail(
        node.error(ErrorCode::protocol_violation, node.name(), "fetch",
                   fmt::format("{} requests kind {} of a value of {}; there are value (1), type (2), element (3) and "
                               "cached (4)",
                               delivery.from, static_cast<int>(fetch.wanted), node.name())));
  }
  if (fetch.rrefs.empty()) {
    return delivery.answer.fail(
        node.error(ErrorCode::protocol_violation, node.name(), operation,
                   fmt::format("the request of {} names no value of {}", delivery.from, node.name())));
  }
  if (names_one_twice(fetch.rrefs)) {
    return delivery.answer.fail(
        not_run(node.error(ErrorCode::protocol_violation, node.name(), operation,
                           fmt::format("the request of {} names a value of {} twice", delivery.from, node.name()))));
  }
  // The name of its type is no copy of a value, and an element of a stream is a part of the answer to a call.
  const bool copies = fetch.wanted == msg::Wanted::value || fetch.wanted == msg::Wanted::cached;
  if (copies && refuse_without(ValueRight::reads, node, delivery, operation)) return;
  if (fetch.site.context) {
    if (auto full = node.contexts().joined(*fetch.site.context, delivery.from))
      return delivery.answer.fail(*std::move(full));
  }
  const NodeLife holder{delivery.from, delivery.incarnation};
  auto serving = node.served_calls().begin(holder, delivery.envelope.request, operation);
  auto scope = served_scope(node, delivery, fetch.site);
  scope->stop = serving->stop_token();
  ServedCall call{node.shared_from_this(), operation,          nullptr,        nullptr, std::move(scope), delivery.from,
                  delivery.answer,         std::move(serving), delivery.credit};
  const std::vector<RRefId> rrefs = fetch.rrefs;
  const auto fetching = std::make_shared<Fetching>(std::move(call), holder, std::move(fetch));
  begin_as_answers_are_taken(node, holder, rrefs, [fetching] { fetching->begin(); });
}

void begin_as_answers_are_taken(NodeCore& node, const NodeLife& peer, const std::vector<RRefId>& rrefs,
                                std::function<void()> begin) {
  struct Held {
    std::mutex mutex;
    std::vector<std::shared_ptr<ValueUse>> uses;  // guarded by mutex
  };
  const auto held = std::make_shared<Held>();
  AnswerBacklog::Begin kept = [held, begin = std::move(begin)] { begin(); };
  if (!node.accounts().answers.keep(peer, AnswerBacklog::Answers::any, kept)) return kept();
  for (const RRefId& rref : rrefs) {
    node.references().use(rref, {UseKind::looks, "for answers to be taken by " + peer.name, peer},
                          [held](const auto&, auto use) {
                            const std::lock_guard lock(held->mutex);
                            held->uses.push_back(std::move(use));
                          });
  }
}

}  // namespace troupe::detail
