#include "actors/references/value_calls.h"

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <typeindex>
#include <utility>

#include "actors/calls/serve.h"
#include "actors/core/error_not_run.h"
#include "actors/core/guarded.h"
#include "actors/references/fetches.h"
#include "actors/references/references.h"
#include "actors/task.h"

namespace troupe::detail {
namespace {

/// Gives the turn up around every wait of a part of a function that runs on a value, as long as that part has the turn:
/// `holder` is the hook of the part that has it.
class TurnHook final : public BlockingHook {
 public:
  TurnHook(ValueUse& use, const std::atomic<const BlockingHook*>& holder, BlockingHook* outer)
      : use_(use), holder_(holder), outer_(outer) {}

  bool wait(WaitPoint& point, std::optional<TimePoint> due) override {
    if (!has_turn()) return wait_outside(point, due);
    bool came = false;
    without_turn([&] { came = wait_outside(point, due); });
    return came;
  }

  void run_as_wait(const std::function<void()>& part) override {
    if (!has_turn()) return run_outside(part);
    without_turn([&] { run_outside(part); });
  }

 private:
  [[nodiscard]] bool has_turn() const { return holder_ == this && !waits_; }

  void without_turn(const auto& part) {
    std::exception_ptr thrown;
    const auto caught = [&] {
      try {
        part();
      } catch (...) {
        thrown = std::current_exception();
      }
    };
    const std::function<void()> run = std::cref(caught);
    waits_ = true;
    try {
      use_.run_without_turn(outer_, run);
    } catch (...) {
      waits_ = false;
      throw;
    }
    waits_ = false;
    if (thrown) std::rethrow_exception(thrown);
  }

  void run_outside(const std::function<void()>& part) { outer_ != nullptr ? outer_->run_as_wait(part) : part(); }
  bool wait_outside(WaitPoint& point, std::optional<TimePoint> due) {
    return outer_ != nullptr ? outer_->wait(point, due) : point.wait_here(due);
  }

  ValueUse& use_;
  const std::atomic<const BlockingHook*>& holder_;
  BlockingHook* outer_;
  bool waits_ = false;  // from before it gives the turn up until it has it again
};

/// A turn that was asked for, and who waits for it. Thread rule: any thread may call any member.
class AskedTurn {
 public:
  /// Calls `told` once the turn is granted, instead of who waited before.
  void tell(std::function<void()> told) {
    {
      std::lock_guard lock(mutex_);
      if (!is_granted_) return told_.swap(told);
    }
    told();
  }

  void grant() {
    std::function<void()> told;
    {
      std::lock_guard lock(mutex_);
      is_granted_ = true;
      told.swap(told_);
    }
    if (told) told();
  }

 private:
  std::mutex mutex_;
  bool is_granted_ = false;     // guarded by mutex_
  std::function<void()> told_;  // guarded by mutex_
};

class ValueTurn final : public TaskTurn {
 public:
  ValueTurn(std::shared_ptr<NodeCore> node, std::shared_ptr<ValueUse> use, std::shared_ptr<const void> value)
      : node_(std::move(node)), use_(std::move(use)), value_(std::move(value)) {}

  void give_up() override {
    use_->give_up_turn();  // first: without memory it keeps the turn, or its place among those that wait
    holder_ = nullptr;
    has_turn_ = false;
    asked_.reset();
  }
  void take_again(std::function<void()> granted) override { take(std::move(granted), TurnOrder::returning); }
  void take_anew(std::function<void()> granted) override { take(std::move(granted), TurnOrder::anew); }
  void run(const std::function<void()>& part) override {
    TurnHook hook(*use_, holder_, BlockingHook::current());
    const BlockingHook::Guard guard(hook);
    holder_ = &hook;
    asked_.reset();
    part();
  }
  void run_on_pool(std::function<void()> part) override {
    std::ignore =
        node_->executor().submit({.label = "end of a stream", .run = std::move(part), .urgency = Urgency::at_once});
  }
  void leave() override {
    has_turn_ = false;
    holder_ = nullptr;
    use_->leave_turn();
  }
  void pass_on() noexcept override { holder_ = nullptr; }
  void passed_back() noexcept override { holder_ = BlockingHook::current(); }

 private:
  void take(std::function<void()> granted, TurnOrder order) {
    if (has_turn_) return asked_ ? asked_->tell(std::move(granted)) : granted();
    auto asked = std::make_shared<AskedTurn>();
    asked->tell(std::move(granted));
    std::function<void()> grant = [asked] { asked->grant(); };
    asked_ = std::move(asked);
    has_turn_ = true;  // before it is asked for: once it is granted the task may be on another thread
    try {
      use_->ask_for_turn(std::move(grant), order);
    } catch (...) {
      has_turn_ = false;
      asked_.reset();
      throw;
    }
  }

  const std::shared_ptr<NodeCore> node_;
  const std::shared_ptr<ValueUse> use_;
  const std::shared_ptr<const void> value_;  // ends before the use: then its owner destroys it
  bool has_turn_ = true;  // or has asked for it; used by the one task of the place that runs or starts to wait
  std::shared_ptr<AskedTurn> asked_;  // until the part that got it begins; used as has_turn_
  /// The hook of the part that has the turn; null while none has. A part that has lost it may still run, on another
  /// thread, and wait: it destroys what it leaves. Compared only: the part may have ended.
  std::atomic<const BlockingHook*> holder_{nullptr};
};

/// A use that waits for its turn until its call is given up (TQ-4). Lives as long as it waits.
class WaitingUse final : public std::enable_shared_from_this<WaitingUse> {
 public:
  WaitingUse(std::shared_ptr<NodeCore> node, RRefId rref)
      : node_(std::move(node)), rref_(std::move(rref)), turn_(node_->references().next_turn()) {}

  /// Calls `begin` once it has the turn, or with the Error if it never will. `stop`: that of its call.
  void ask(UsePurpose purpose, const std::stop_token& stop, UseHandler begin) {
    node_->references().use(
        rref_, turn_, std::move(purpose),
        [self = shared_from_this(), begin = std::move(begin)](Result<ValueBox> value, std::shared_ptr<ValueUse> use) {
          begin(std::move(value), std::move(use));
        });
    given_up_.emplace(stop, GiveUp{weak_from_this()});  // at once if the stop came before the use
  }

 private:
  /// Takes no memory: a use that was asked for must not fail otherwise, too.
  struct GiveUp {
    std::weak_ptr<WaitingUse> use;
    void operator()() const {
      if (const auto self = use.lock()) self->withdraw();
    }
  };

  void withdraw() {
    try {
      node_->references().withdraw(rref_, turn_);
    } catch (const std::bad_alloc&) {  // in a stop callback, where no exception may end
      node_->fail(failure_of_current_exception("a cancellation"));
    }
  }

  const std::shared_ptr<NodeCore> node_;
  const RRefId rref_;
  const TurnId turn_;
  std::optional<std::stop_callback<GiveUp>> given_up_;  // set once, by `ask`
};

void make_value(NodeCore& node, const RRefId& rref, ServedCall call, Sharing sharing) {
  const auto shared = std::make_shared<ServedCall>(std::move(call));
  const auto publish = [core = node.shared_from_this(), rref, sharing](Result<ValueBox> value) {
    core->references().set_value(rref, std::move(value), sharing);
  };
  const std::string label = "remote " + shared->function->name + " for " + shared->caller;
  node.run(
      label,
      [shared, publish] {
        if (!shared->function->is_member) return run_function(shared, {}, publish);
        publish(
            not_run(shared->node->error(ErrorCode::bad_argument, shared->node->name(),
                                        "remote " + shared->function->name, "a member function is called on an RRef")));
      },
      publish, shared->scope->priority);
}

/// Returns the call, or the Error of one that is refused, also for lack of memory: who awaits its value is told.
Result<ServedCall> open_creating_call(NodeCore& node, const Delivery& delivery, const WantedFunction& wanted,
                                      msg::Payload arguments, const msg::CallSite& site, Lasting lasting,
                                      std::optional<Error> refused) {
  try {
    return open_call(node, delivery, wanted, std::move(arguments), site, lasting, std::move(refused));
  } catch (const std::bad_alloc&) {
    return not_run(failure_of_current_exception("the call"));
  }
}

/// Runs the call in its turn on the value. `is_kept`: its result stays here as a value, and it has been answered.
void use_value(NodeCore& node, const NodeLife& caller, const RRefId& rref, ServedCall call, bool is_kept,
               const std::function<void(const ServedCall&, Result<ValueBox>)>& finish) {
  const auto served = std::make_shared<ServedCall>(std::move(call));
  const UseKind kind = served->function->changes_object ? UseKind::changes : UseKind::reads;
  const std::string label = served->operation + " for " + served->caller;
  UsePurpose purpose{kind, label, caller};
  if (is_kept) purpose.asked_by.reset();  // a value stays, even if its requester goes
  const auto run_in_turn = [served, finish, label](Result<ValueBox> value, std::shared_ptr<ValueUse> use) {
    if (!value) return finish(*served, value.error());
    const ValueBox box = value.value();
    const auto run = [served, finish, box, use] {
      if (served->function->object == nullptr || box.ops->type != std::type_index(*served->function->object)) {
        return finish(*served, not_run(served->node->error(ErrorCode::bad_argument, served->node->name(),
                                                           "rpc " + served->function->name,
                                                           "the function does not run on values of this type")));
      }
      const auto turn = std::make_shared<ValueTurn>(served->node, use, box.value);
      turn->run([&] {
        run_function(served, {box.value.get(), turn},
                     [served, finish, box, use](Result<ValueBox> result) { finish(*served, std::move(result)); });
      });
    };
    served->node->run(
        label, run, [served, finish](const Error& refused) { finish(*served, refused); }, served->scope->priority);
  };
  if (is_kept) return node.references().use(rref, std::move(purpose), run_in_turn);  // it has been answered already
  begin_as_answers_are_taken(node, caller, {rref}, [served, rref, purpose, run_in_turn] {
    std::make_shared<WaitingUse>(served->node, rref)->ask(purpose, served->scope->stop, run_in_turn);
  });
}

/// Calls `begin`, which is to make a value that was promised. Without memory for it the value is an error.
template <class Begin>
void begin_or_fail(NodeCore& node, const RRefId& rref, Sharing sharing, const Begin& begin) {
  try {
    begin();
    return;
  } catch (const std::bad_alloc&) {  // `begin` has not begun it
  }
  try {
    node.references().set_value(rref, error_not_run(ErrorCode::resource_exhausted, "out of memory"), sharing);
  } catch (const std::bad_alloc&) {  // its users would wait for ever
    node.fail(failure_of_current_exception("a value"));
  }
}

}  // namespace

void serve_remote_call(NodeCore& node, const Delivery& delivery, msg::RemoteCall& call) {
  const RRefId rref = call.rref;
  const NodeLife creator{delivery.from, delivery.incarnation};
  auto why_not = node.references().begin_value(rref, call.fork, creator);
  auto opened = open_creating_call(node, delivery, {call.function, std::move(call.function_name), call.fingerprint},
                                   std::move(call.arguments), call.site, Lasting::as_value, std::move(why_not));
  if (!opened) {
    node.references().refuse_value(rref, call.fork, creator, opened.error());
    delivery.answer.fail(opened.error());
    return;
  }
  delivery.answer.answer(msg::RRefCreated{rref});
  begin_or_fail(node, rref, call.sharing, [&] { make_value(node, rref, std::move(opened).value(), call.sharing); });
}

void serve_value_call(NodeCore& node, const Delivery& delivery, msg::ValueCall& call) {
  const auto keep_as = call.keep_as;
  const RRefId rref = call.rref;
  const NodeLife caller{delivery.from, delivery.incarnation};
  std::optional<Error> why_not;
  if (keep_as) why_not = node.references().begin_value(keep_as->rref, keep_as->fork, caller);
  auto opened = open_creating_call(node, delivery, {call.function, std::move(call.function_name), call.fingerprint},
                                   std::move(call.arguments), call.site,
                                   keep_as ? Lasting::as_value : Lasting::while_caller_waits, std::move(why_not));
  const auto finish = [core = node.shared_from_this(), keep_as](const ServedCall& served, Result<ValueBox> value) {
    if (keep_as) {
      core->references().set_value(keep_as->rref, std::move(value), keep_as->sharing);
    } else if (value) {
      answer_with_value(served, value.value());
    } else {
      served.answer.fail(value.error());
    }
  };
  if (!opened) {
    if (keep_as) node.references().refuse_value(keep_as->rref, keep_as->fork, caller, opened.error());
    delivery.answer.fail(opened.error());
    return;
  }
  if (keep_as) delivery.answer.answer(msg::RRefCreated{keep_as->rref});
  const auto use = [&] { use_value(node, caller, rref, std::move(opened).value(), keep_as.has_value(), finish); };
  keep_as ? begin_or_fail(node, keep_as->rref, keep_as->sharing, use) : use();
}

}  // namespace troupe::detail
