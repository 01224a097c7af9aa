#include "actors/sessions/router_actor.h"

#include <new>
#include <utility>

#include "actors/core/error_not_run.h"

namespace troupe::detail {
namespace {

/// What follows an exception of a handler.
struct FailedHandler {
  RouterState* state;

  void operator()(Error why) const { state->setting.failed(std::move(why)); }
  void operator()(const Error& why, const SendRequest& m) const {
    try {
      if (state->router->refuse(state->now(), m.request.id, why)) return;
      Error unsent = not_run(copy_of(why));  // it is not in the table yet, or was answered
      unsent.operation.clear();
      m.done(std::move(unsent));
    } catch (const std::bad_alloc&) {  // its session is not as it was
      state->setting.failed(copy_of(why));
    }
  }
};

}  // namespace

void RouterState::settle() {
  const auto due = router->next_due();
  if (!due || !wakes.misses(*due)) return;
  const TimePoint at = wakes.time_for(*due, now());
  setting.wake_at(at);
  wakes.requested(at);
}

RouterActor::behavior_type router_actor(RouterActor::stateful_pointer<RouterState> self, RouterSetting setting) {
  self->state.router = std::make_unique<Router>(setting.self, *setting.callbacks, *setting.lives, setting.options);
  self->state.setting = std::move(setting);

  const auto now = [self] { return self->state.now(); };
  const auto settle = [self] { self->state.settle(); };
  return guarded<RouterActor::behavior_type>(
      "the router", FailedHandler{&self->state},
      // CAF tries them in this order: the frequent ones first.
      [=](ReceivedFrames& m) {
        self->state.router->frames(now(), m.from, m.incarnation, std::move(m.frames)), settle();
      },
      [=](SendNotification& m) {
        self->state.router->notify(now(), m.to, m.life, std::move(m.parcel), m.haste), settle();
      },
      [=](SendRequest& m) { self->state.router->request(now(), std::move(m.request), m.done), settle(); },
      [=](SendAnswer& m) { self->state.router->answer(now(), m.to, std::move(m.answer)), settle(); },
      [=](const CallsStarted& m) { self->state.router->grant(now(), m.peer), settle(); },
      [=](const CancelRequest& m) { self->state.router->cancel(now(), m.request), settle(); },
      [=](SendNotificationToSelf& m) {
        self->state.router->notify_self(std::move(m.actor), std::move(m.message)), settle();
      },
      [=](SendAnswerToSelf& m) { self->state.router->answer_self(now(), m.request, std::move(m.message)), settle(); },
      [=](const LinkUp& m) { self->state.router->link_up(now(), m.peer), settle(); },
      [=](const LinkDown& m) { self->state.router->link_down(now(), m.peer, m.incarnation, m.why), settle(); },
      [=](const PeerReached& m) {
        self->state.router->reach(now(), m.peer, m.incarnation, m.change, m.silence), settle();
      },
      [=](const TickDue&) {
        if (!self->state.wakes.came(now())) return;
        self->state.router->tick(now());
        settle();
      },
      [=](const ListOldest& m) {
        for (PendingCall& call : self->state.router->oldest(m.count)) m.slot.add(std::move(call));
      },
      [=](const StopRouting& m) {
        self->quit();  // first: a router that cannot send goodbyes quits all the same; pending requests then fail
        self->state.router->stop(now(), m.why);
        m.stopped.complete(Unit{});
      });
}

}  // namespace troupe::detail
