#include "actors/collectives/collective_member.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <new>
#include <stop_token>
#include <string_view>
#include <utility>

#include "actors/core/guarded.h"
#include "messages/schema.h"
#include "messages/values.h"

namespace troupe::detail {
namespace {

/// How long a part's request outlives the operation's deadline: the operation then ends by itself and names the awaited
/// member.
constexpr std::chrono::milliseconds kGrace{250};

/// The time limit of notifying the others that the collective is broken.
constexpr std::chrono::seconds kTellLimit{10};

std::map<NodeName, std::size_t> ranks_of_others(const std::vector<NodeName>& names, const NodeName& self) {
  std::map<NodeName, std::size_t> ranks;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    if (names[rank] != self) ranks.emplace(names[rank], rank);
  }
  return ranks;
}

}  // namespace

Error own_failure(const NodeCore& node, std::string_view operation) noexcept {
  Error why = failure_of_current_exception(operation);
  set_text(why.peer, node.name());
  why.incarnation = node.incarnation();
  return why;
}

CollectiveMember::CollectiveMember(std::shared_ptr<NodeCore> node, std::vector<NodeName> names, std::size_t self)
    : node_(std::move(node)),
      names_(std::move(names)),
      self_(self),
      other_ranks_(ranks_of_others(names_, node_->name())),
      parts_(names_, self) {}

void CollectiveMember::met(std::vector<CollectiveEnd> ends) {
  std::vector<ReturnAddress> told_before;
  std::optional<CollectiveMessage> word;
  {
    std::lock_guard lock(mutex_);
    ends_ = ends;
    told_before = std::exchange(told_before_, {});
    if (failure_) word = broke();
  }
  for (const ReturnAddress& began : told_before) began.answer(msg::Reply{});
  if (word) tell_others(std::move(*word));
  for (std::size_t who = 0; who < names_.size(); ++who) {
    const NodeLife member{names_[who], ends[who].life};
    if (const auto over = node_->lives().why_over(member)) peer_down(member, *over);
  }
}

std::uint64_t CollectiveMember::draw_turn() {
  std::lock_guard lock(mutex_);
  return next_turn_++;
}

void CollectiveMember::carry_out(const Scope& scope, std::uint64_t turn, const std::string& operation,
                                 const std::string& what, const std::function<void()>& body) {
  const std::optional<TimePoint> due = due_of(scope.state());
  const std::stop_callback on_stop(scope.stop_token(), [this, &operation] {
    try {
      Error stopped = error(ErrorCode::cancelled, node_->name(), fmt::format("{} gave it up", node_->name()));
      stopped.operation = operation;
      fail(std::move(stopped), Tell::others);
    } catch (const std::bad_alloc&) {  // in a stop callback, where no exception may end
      node_->fail(failure_of_current_exception("a cancellation"));
    }
  });
  try {
    {
      Lock lock(mutex_);
      wait_until(lock, turn, operation, due, [&] { return turn_ == turn; });
      under_way_ = true;
      announced_ = names_.size() == 1;
      operation_ = operation;
      due_ = due;
      if (auto mismatch = parts_.begin(what)) {
        lock.unlock();
        fail(std::move(*mismatch), Tell::others);
      }
    }
    body();
    announce();
    Lock lock(mutex_);
    if (auto mismatch = parts_.end(); mismatch && !failure_) {
      lock.unlock();
      fail(std::move(*mismatch), Tell::others);
    }
  } catch (const RemoteError& refused) {
    fail(copy_of(refused.error()), Tell::others);
  } catch (const std::exception&) {
    fail(own_failure(*node_, {}), Tell::others, turn);
  }
  Lock lock(mutex_);
  if (failure_) throw RemoteError(failure_of(turn, operation));
  under_way_ = false;
  ++turn_;
  wake_all();
}

CollectiveMember::Sent CollectiveMember::send(std::size_t to, std::uint64_t slot, Frame bytes) {
  CollectiveMessage word;
  Sent sent{};
  std::optional<TimePoint> due;
  {
    Lock lock(mutex_);
    if (due_) due = *due_ + kGrace;
    if (failure_) throw RemoteError(*failure_);
    if (const Error* why = parts_.absence(to)) throw RemoteError(*why);
    word.place = parts_.next_place(to, slot);
    sent = Sent{next_sent_++};
    sent_.emplace(sent, std::pair(to, false));
    if (to == before()) announced_ = true;
  }
  Frames frames;
  if (!bytes.bytes.empty()) frames.push_back(std::move(bytes));
  request(to, std::move(word), std::move(frames), due,
          [weak = weak_from_this(), sent](const Result<msg::AnyMessage>& answer) {
            if (const auto member = weak.lock()) member->sent_ended(sent, answer);
          });
  return sent;
}

void CollectiveMember::sent_ended(Sent sent, const Result<msg::AnyMessage>& answer) {
  if (!answer.ok()) return fail(copy_of(answer.error()), Tell::others);
  std::lock_guard lock(mutex_);
  if (const auto known = sent_.find(sent); known != sent_.end()) known->second.second = true;
  wake_all();
}

void CollectiveMember::wait(Sent sent) {
  announce();
  Lock lock(mutex_);
  wait_in_operation(lock, [&] { return sent_.at(sent).second; });
  sent_.erase(sent);
}

CollectiveMember::Wanted CollectiveMember::want(std::size_t from, std::uint64_t slot) {
  Lock lock(mutex_);
  const Wanted wanted = parts_.want(from, slot);
  const auto taken = parts_.taken();
  lock.unlock();
  for (const auto& answer : taken) answer(nullptr);
  return wanted;
}

Frame CollectiveMember::receive(const Wanted& wanted) {
  announce();
  Lock lock(mutex_);
  std::optional<Frame> bytes;
  wait_in_operation(lock, [&] { return (bytes = parts_.take(wanted)).has_value(); });
  return std::move(*bytes);
}

void CollectiveMember::announce() {
  CollectiveMessage word{CollectiveMessage::Kind::began, 0, {}, {}};
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(announced_, true)) return;
    word.place.operation = parts_.operation();
    word.place.what = parts_.what();
  }
  request(before(), std::move(word), {}, std::nullopt,
          [weak = weak_from_this()](const Result<msg::AnyMessage>& answer) {
            if (const auto member = weak.lock()) member->announcement_ended(answer);
          });
}

/// The member before this one has failed, or never formed the collective: others may wait for its parts. If it has left
/// and said so, only who needs it fails.
void CollectiveMember::announcement_ended(const Result<msg::AnyMessage>& answer) {
  if (answer.ok()) return;
  {
    std::lock_guard lock(mutex_);
    if (parts_.absence(before()) != nullptr) return;
  }
  fail(copy_of(answer.error()), Tell::others);
}

void CollectiveMember::wait_in_operation(Lock& lock, const std::function<bool()>& done) {
  wait_until(lock, turn_, operation_, due_, done);
}

void CollectiveMember::wait_until(Lock& lock, std::uint64_t turn, const std::string& operation,
                                  std::optional<TimePoint> due, const std::function<bool()>& done) {
  const TimePoint began = node_->clock().now();
  const auto fail_here = [&](Error why) {
    why.operation = operation;
    lock.unlock();
    fail(std::move(why), Tell::others);
    lock.lock();
  };
  while (true) {
    if (failure_) throw RemoteError(failure_of(turn, operation));
    if (done()) return;
    if (const Error* why = parts_.lost()) {
      fail_here(*why);
      continue;
    }
    const auto point = std::make_shared<WaitPoint>();
    waiting_.insert(point);
    lock.unlock();
    const bool woken = point->wait(due);
    lock.lock();
    waiting_.erase(point);
    if (woken || failure_ || done()) continue;
    const double waited = std::chrono::duration<double>(node_->clock().now() - began).count();
    fail_here(error(ErrorCode::timeout, {},
                    fmt::format("timed out in {} after {:.2f} seconds: waiting for {}", operation, waited, awaited())));
  }
}

void CollectiveMember::leave() {
  std::optional<CollectiveMessage> word;
  {
    std::lock_guard lock(mutex_);
    if (tells_) return;
    if (failure_) word = broke();
    left_ = !failure_;
  }
  if (word) return tell_others(std::move(*word));
  fail(left_error(node_->name()), Tell::nobody);
  tell_others({CollectiveMessage::Kind::left, 0, {}, {}});
}

void CollectiveMember::fail(Error why, Tell tell, std::optional<std::uint64_t> turn) noexcept try {
  std::vector<CollectiveInbox::Answer> dropped;
  std::vector<ReturnAddress> told_before;
  CollectiveMessage word;
  {
    std::lock_guard lock(mutex_);
    if (failure_) return;
    if (!turn && under_way_) turn = turn_;
    if (why.operation.empty() || why.operation == kCollectiveActor)
      set_text(why.operation, under_way_ ? std::string_view(operation_) : "");
    failure_ = copy_of(why);  // whatever fails for lack of memory from here on, who waits here learns it
    failed_turn_ = turn;
    wake_all();
    told_before = std::exchange(told_before_, {});
    word = broke();
    dropped = parts_.drop();
  }
  for (const auto& answer : dropped) answer(&why);
  for (const ReturnAddress& began : told_before) began.fail(why);
  if (tell == Tell::others) tell_others(std::move(word));
} catch (...) {  // the others learn it from the end of the node
  node_->fail(failure_of_current_exception("a collective"));
}

void CollectiveMember::tell_others(CollectiveMessage word) {
  {
    std::lock_guard lock(mutex_);
    if (ends_.empty()) return;  // this member has not met the others yet: `met` tells them
    tells_ = true;
  }
  for (std::size_t to = 0; to < names_.size(); ++to) {
    if (to == self_) continue;
    // This member answers others until they know: they take the absence of one that has not told them for a failure.
    request(to, word, {}, node_->clock().now() + kTellLimit,
            [self = shared_from_this()](const Result<msg::AnyMessage>&) {});
  }
}

void CollectiveMember::request(std::size_t to, CollectiveMessage word, Frames bytes, std::optional<TimePoint> due,
                               AnswerHandler done) const {
  std::optional<Incarnation> life;
  {
    std::lock_guard lock(mutex_);
    word.collective = ends_[to].number;
    life = ends_[to].life;
  }
  msg::Call call;
  call.function_name = kCollectiveActor;
  call.fingerprint = fingerprint_of<CollectiveMessage>();
  call.arguments = to_payload(nullptr, word);
  call.arguments.tensors = std::move(bytes);
  Request request{names_[to], kCollectiveActor, kCollectiveActor, due, std::move(call)};
  request.life = life;
  node_->request(std::move(request), std::move(done));
}

void CollectiveMember::handle(const Delivery& delivery, CollectiveMessage word) {
  const auto from = rank_of(delivery.from);
  if (!from) {
    return delivery.answer.fail(
        error(ErrorCode::protocol_violation, delivery.from, "it is no member of this collective"));
  }
  if (word.kind != CollectiveMessage::Kind::part) return handle_note(*from, std::move(word), delivery.answer);
  const Frames& frames = delivery.message.get<msg::Call>().arguments.tensors;
  if (frames.size() > 1) {
    return delivery.answer.fail(
        error(ErrorCode::protocol_violation, delivery.from, fmt::format("a part of {} frames", frames.size())));
  }
  if (!frames.empty() && frames.front().device != Device::cpu()) {
    return delivery.answer.fail(error(ErrorCode::protocol_violation, delivery.from,
                                      fmt::format("a part in memory of {}", to_string(frames.front().device))));
  }
  const auto answer = [to = delivery.answer](const Error* why) {
    why == nullptr ? to.answer(msg::Reply{}) : to.fail(*why);
  };
  std::optional<Error> refused;
  std::vector<CollectiveInbox::Answer> taken;
  {
    std::lock_guard lock(mutex_);
    refused = failure_;
    if (!refused)
      refused = parts_.came(*from, std::move(word.place), frames.empty() ? Frame{} : frames.front(), answer);
    taken = parts_.taken();
    wake_all();
  }
  for (const auto& told : taken) told(nullptr);
  if (!refused) return;
  answer(&*refused);
  fail(std::move(*refused), Tell::others);
}

void CollectiveMember::handle_note(std::size_t from, CollectiveMessage word, const ReturnAddress& answer) {
  std::optional<Error> refused;
  if (word.kind == CollectiveMessage::Kind::broke && word.why) {
    const auto turn = word.place.operation == 0 ? std::nullopt : std::optional(word.place.operation - 1);
    fail(std::move(*word.why), Tell::nobody, turn);
  } else {
    std::lock_guard lock(mutex_);
    const bool began = word.kind == CollectiveMessage::Kind::began;
    if (began && !left_) refused = failure_;
    if (!failure_ && word.kind == CollectiveMessage::Kind::left) parts_.left(from, left_error(names_[from]));
    if (!failure_ && began) refused = parts_.told(from, std::move(word.place));
    if (began && !refused && ends_.empty() && told_before_.size() < CollectiveInbox::kAheadMax) {
      told_before_.push_back(answer);  // the formation may still fail: its answer says so; more of them are not honest
      return;
    }
    wake_all();
  }
  if (!refused) return answer.answer(msg::Reply{});  // last: who has the answer relies on what was said here
  answer.fail(*refused);
  fail(std::move(*refused), Tell::others);
}

void CollectiveMember::peer_down(const NodeLife& peer, const Error& why) {
  const auto who = rank_of(peer.name);
  if (!who) return;
  {
    std::lock_guard lock(mutex_);
    if (ends_.empty() || ends_[*who].life != peer.incarnation) return;
  }
  Error down = why;
  down.peer = peer.name;
  down.operation.clear();
  if (why.code != ErrorCode::shutting_down) return fail(std::move(down), Tell::others);
  std::lock_guard lock(mutex_);  // it left on purpose: only members that still need it fail
  parts_.left(*who, std::move(down));
  wake_all();
}

void CollectiveMember::wake_all() {
  for (const auto& point : waiting_) point->signal();
}

CollectiveMessage CollectiveMember::broke() const {
  CollectiveMessage word{CollectiveMessage::Kind::broke, 0, {}, failure_};
  word.place.operation = failed_turn_ ? *failed_turn_ + 1 : 0;
  return word;
}

Error CollectiveMember::failure_of(std::uint64_t turn, const std::string& operation) const {
  Error first = *failure_;
  if (failed_turn_ == turn) {
    first.operation = operation;
    return first;
  }
  Error later = first;
  later.operation = operation;
  later.message = "the collective is broken";
  later.cause = first.text();
  later.hint = "form another one";
  return later;
}

std::string CollectiveMember::awaited() const {
  std::set<NodeName> members;
  for (const std::size_t who : parts_.awaited()) members.insert(names_[who]);
  for (const auto& [sent, state] : sent_) {
    if (!state.second) members.insert(names_[state.first]);
  }
  return members.empty() ? "an earlier operation of this member" : fmt::format("{}", fmt::join(members, ", "));
}

Error CollectiveMember::left_error(const NodeName& who) const {
  return error(ErrorCode::cancelled, who, fmt::format("{} has left the collective", who));
}

Error CollectiveMember::error(ErrorCode code, const NodeName& peer, std::string message) const {
  return node_->error(code, peer, {}, std::move(message));
}

std::optional<std::size_t> CollectiveMember::rank_of(const NodeName& name) const {
  const auto found = other_ranks_.find(name);
  return found == other_ranks_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace troupe::detail
