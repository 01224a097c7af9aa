#include "actors/contexts/backward_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "actors/contexts/known_route.h"
#include "actors/contexts/recv_tag.h"

namespace troupe::detail {
namespace {

/// Why the tracker refused an event; null if it did not.
const Error* refusal(const backward_actions::Actions& actions) {
  for (const backward_actions::Action& action : actions) {
    if (const auto* refused = std::get_if<backward_actions::Refused>(&action)) return &refused->error;
  }
  return nullptr;
}

}  // namespace

BackwardPass::BackwardPass(ContextId context, PassId pass, Mode mode, NodeName self, std::optional<TimePoint> due,
                           ContextLedger& ledger, Callbacks& callbacks, Reducers reducers)
    : context_(std::move(context)),
      pass_(std::move(pass)),
      mode_(mode),
      self_(std::move(self)),
      due_(due),
      ledger_(ledger),
      callbacks_(callbacks),
      tracker_(pass_, self_),
      work_(std::make_shared<GraphWork>()),
      reducers_(std::move(reducers)) {
  work_->pass = pass_;
  work_->reducers = reducers_;
  if (mode_.graph == Graph::release) work_->task.remember_operations();
}

void BackwardPass::begin() {
  while (begun_count_ < reducers_.size()) reducers_[begun_count_++]->begin(pass_);
}

void BackwardPass::start(PassPlan plan) {
  plan_ = std::move(plan);
  roots_ = std::exchange(plan_.roots.local, {});
  has_roots_ = !roots_->empty();
  std::set<NodeName> remote;
  for (const auto& [node, ids] : plan_.roots.remote) remote.insert(node);
  if (plan_.inputs) {
    inputs_ = std::exchange(plan_.inputs->local, {});
    for (const auto& [node, ids] : plan_.inputs->remote) remote.insert(node);
  }
  if (auto route = remote.empty() && !plan_.inputs ? known_route() : std::nullopt) {
    if (auto lie = lie_in(*route)) return fail(*std::move(lie));
    const backward_actions::Actions actions = tracker_.start_on(*route);
    follow(*std::move(route));
    perform(actions);
  } else {
    perform(tracker_.start(remote));
  }
}

std::optional<msg::RouteLegs> BackwardPass::known_route() const {
  KnownRoute route(context_, self_, msg::kRouteMax);
  for (const Variable& root : *roots_) {
    if (const Edge edge = root.gradient_edge()) route.add(*edge.fn);
  }
  return route.take();
}

std::optional<Error> BackwardPass::lie_in(const msg::RouteLegs& route) const {
  for (const msg::RouteLeg& leg : route) {
    for (const std::uint64_t serial : leg.serials) {
      if (leg.sender != self_ || ledger_.find_send(leg.id(serial), leg.receiver)) continue;
      return own_error(ErrorCode::protocol_violation, fmt::format("[backward] {} has sent nothing to {} as boundary {}",
                                                                  self_, leg.receiver, leg.id(serial).text()));
    }
  }
  return std::nullopt;
}

void BackwardPass::follow(msg::RouteLegs legs) {
  route_ = std::make_shared<const msg::BackwardRoute>(msg::BackwardRoute{std::move(legs), mode_.graph == Graph::keep});
  work_->route = route_;
  know_route_.insert(pass_.creator);
}

void BackwardPass::mark(const NodeName& from, std::uint64_t request, const msg::BackwardMark& mark, MarkAnswer answer) {
  if (outcome_) {
    const Error error =
        outcome_->ok() ? own_error(ErrorCode::protocol_violation, "the pass is complete") : outcome_->error();
    return answer({context_, pass_, {}, error});
  }
  const bool names_values = !mark.roots.empty() || !mark.inputs.empty();
  const backward_actions::Actions actions = tracker_.mark(from, request, mark.boundaries, names_values);
  if (const Error* error = refusal(actions)) {
    callbacks_.refused(*error);
    return answer({context_, pass_, {}, *error});
  }
  unanswered_.insert_or_assign({from, request}, std::move(answer));
  if (names_values && !has_roots_) {
    has_roots_ = true;
    input_ids_ = mark.inputs;
    std::vector<RRefId> values = mark.roots;
    values.insert(values.end(), mark.inputs.begin(), mark.inputs.end());
    callbacks_.find_roots(pass_, std::move(values));
  }
  perform(actions);
}

void BackwardPass::mark_answered(std::uint64_t number, const msg::BackwardMarked& marked) {
  if (outcome_) return;
  perform(marked.error ? tracker_.fail(*marked.error) : tracker_.mark_answered(number, marked.participants));
}

void BackwardPass::run() {
  if (!outcome_) perform(tracker_.run());
}

void BackwardPass::gradients(const NodeName& from, msg::BackwardGradients message) {
  if (outcome_ || (message.route && !take_route(from, message))) return;
  know_route_.insert(from);
  const backward_actions::Actions actions = tracker_.gradient(from, message.boundary);
  const bool is_accepted = std::any_of(actions.begin(), actions.end(), [](const backward_actions::Action& action) {
    return std::holds_alternative<backward_actions::Accept>(action);
  });
  if (is_accepted) {
    with_gradient_[message.boundary] =
        static_cast<std::uint32_t>(std::ranges::count_if(message.gradients, &Tensor::defined));
    steps_.emplace_back(FeedSend{ledger_.find_send(message.boundary), std::move(message.gradients)});
  }
  perform(actions);
}

bool BackwardPass::take_route(const NodeName& from, const msg::BackwardGradients& message) {
  const backward_actions::Actions actions = tracker_.route(from, message.route->legs);
  if (const Error* error = refusal(actions)) {
    callbacks_.refused(*error);
    return false;
  }
  if (!actions.empty()) follow(message.route->legs);
  take(actions);
  return true;
}

void BackwardPass::finished(const NodeName& participant, const std::optional<Error>& error) {
  if (!outcome_) perform(error ? tracker_.fail(*error) : tracker_.reported(participant));
}

void BackwardPass::roots_found(Result<std::vector<Variable>> found) {
  if (outcome_ || roots_) return;
  if (!found) return fail(found.error());
  std::vector<Variable> values = std::move(found).value();
  const auto inputs = values.end() - static_cast<std::ptrdiff_t>(input_ids_.size());
  inputs_.assign(inputs, values.end());
  values.erase(inputs, values.end());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].defined() && inputs_[i].requires_grad()) continue;
    return fail(own_error(ErrorCode::bad_argument,
                          fmt::format("[backward] input {} requires no gradient", input_ids_[i].text())));
  }
  roots_ = std::move(values);
  settle();
}

void BackwardPass::pool_done(std::shared_ptr<GraphWork> work) {
  if (outcome_) return;
  if (release_ == Release::runs) {
    work->task.release_operations();  // does nothing, unless the pool refused the job
    work_ = std::move(work);
    release_ = Release::done;
    for (const ReleaseAnswer& answer : std::exchange(release_answers_, {})) answer(msg::BackwardReleased{pass_});
    return released_by(self_);
  }
  if (work->failure) {
    Error error = own_error(work->failure->code, work->failure->message);
    error.exception_type = work->failure->exception_type;
    error.execution = Execution::yes;
    return fail(error);
  }
  for (const auto& reached : std::exchange(work->reached, {})) {
    const auto peers = peers_of(reached);
    if (!peers) return fail(peers.error());
    perform(tracker_.walked(peers.value()));
  }
  if (outcome_) return;
  graph_finished_ = work->finished;
  gradients_.add(std::exchange(work->gradients, {}));
  work_ = std::move(work);
  settle();
}

void BackwardPass::reduced(Result<Gradients> gradients) {
  if (outcome_) return;
  if (!gradients) return fail(gradients.error());
  gradients_ = std::move(gradients).value();
  ++reduced_count_;
  reduce();
}

void BackwardPass::release(ReleaseAnswer answer) {
  if (release_ == Release::done) return answer(msg::BackwardReleased{pass_});
  if (outcome_ || mode_.graph == Graph::keep || tracker_.phase() != BackwardTracker::Phase::finished) {
    return answer(own_error(ErrorCode::protocol_violation, "told to release the graph of a pass that is not complete"));
  }
  release_answers_.push_back(std::move(answer));
  if (release_ == Release::runs) return;
  release_ = Release::runs;
  steps_.emplace_back(ReleaseGraph{});
  settle();
}

void BackwardPass::released_by(const NodeName& node) {
  unreleased_.erase(node);
  if (!outcome_ && tracker_.phase() == BackwardTracker::Phase::complete && unreleased_.empty()) end(Unit{});
}

void BackwardPass::fail(const Error& error) {
  if (outcome_) return;
  if (tracker_.phase() == BackwardTracker::Phase::complete) return end(Unit{});
  perform(tracker_.fail(error));
}

void BackwardPass::abandon(const Error& error) {
  if (!outcome_) end(error);
  else given_up(outcome_->ok() ? error : outcome_->error());
}

void BackwardPass::taken() { tell_reducers(Unit{}); }
void BackwardPass::given_up(const Error& why) { tell_reducers(why); }

void BackwardPass::tell_reducers(const Result<Unit>& verdict) {
  for (; told_count_ < begun_count_; ++told_count_) {
    GradientReducer& reducer = *reducers_[told_count_];
    verdict ? reducer.complete(pass_) : reducer.fail(pass_, verdict.error());
  }
}

void BackwardPass::perform(const backward_actions::Actions& actions) {
  take(actions);
  settle();
}

void BackwardPass::take(const backward_actions::Actions& actions) {
  for (const backward_actions::Action& action : actions) {
    std::visit([this](const auto& each) { perform(each); }, action);
  }
}

void BackwardPass::perform(const backward_actions::Walk& action) { steps_.emplace_back(action); }

void BackwardPass::perform(const backward_actions::SendMark& action) {
  msg::BackwardMark mark{context_,          pass_, pass_.creator, action.boundaries, {}, mode_.graph == Graph::keep,
                         mode_.only_inputs, {}};
  std::optional<Incarnation> life;
  if (action.from_roots) {
    mark.roots = plan_.roots.remote[action.to];
    if (plan_.inputs) mark.inputs = plan_.inputs->remote[action.to];
    if (const auto owner = plan_.lives.find(action.to); owner != plan_.lives.end()) life = owner->second;
  }
  callbacks_.send_mark(action.to, life, action.number, std::move(mark), due_);
}

void BackwardPass::perform(const backward_actions::AnswerMark& action) {
  auto answer = unanswered_.extract({action.to, action.request});
  if (answer.empty()) return;
  answer.mapped()({context_, pass_, {action.participants.begin(), action.participants.end()}, {}});
}

void BackwardPass::perform(const backward_actions::SendRun& action) {
  callbacks_.notify(action.to, msg::BackwardRun{context_, pass_});
}

void BackwardPass::perform(const backward_actions::Run&) {
  if (has_roots_) steps_.emplace_back(Start{});
}

// `gradients`, which has the message, feeds them.
void BackwardPass::perform(const backward_actions::Accept&) {}

void BackwardPass::perform(const backward_actions::SendFinished& action) {
  callbacks_.notify(action.to, msg::BackwardFinished{context_, pass_, self_, {}});
}

void BackwardPass::perform(const backward_actions::SendFailed& action) {
  callbacks_.notify(action.to, msg::BackwardFinished{context_, pass_, self_, action.error});
}

void BackwardPass::perform(const backward_actions::Complete&) {
  if (mode_.graph == Graph::keep) return end(Unit{});
  unreleased_ = tracker_.participants();
  for (const NodeName& node : unreleased_) {
    if (node != self_) callbacks_.send_release(node, {context_, pass_}, due_);
  }
  release_ = Release::runs;
  steps_.emplace_back(ReleaseGraph{});
}

void BackwardPass::perform(const backward_actions::Failed& action) { end(action.error); }
void BackwardPass::perform(const backward_actions::Refused& action) { callbacks_.refused(action.error); }

void BackwardPass::settle() {
  if (outcome_ || !work_) return;
  if (!steps_.empty()) {
    if (waits_for_roots()) return;
    while (!steps_.empty() && !waits_for_roots()) {
      if (mode_.only_inputs && !std::holds_alternative<backward_actions::Walk>(steps_.front()) &&
          !std::exchange(restricted_, true)) {
        work_->add(KeepOnly{std::move(inputs_)});
      }
      work_->add(std::visit([this](auto& step) { return graph_step(step); }, steps_.front()));
      steps_.pop_front();
    }
    work_->know_route = know_route_;
    callbacks_.run_on_pool(std::exchange(work_, nullptr));
  } else if (tracker_.may_finish() && graph_finished_ && !waits_for_others()) {
    graph_finished_ = false;  // reported once
    reduce();
  }
}

// What other members learn of this pass must be true of the whole pass, so the node that started it reduces last.
bool BackwardPass::waits_for_others() const {
  return !reducers_.empty() && pass_.creator == self_ && !tracker_.others_have_finished();
}

void BackwardPass::reduce() {
  if (reduced_count_ == 0) {
    for (const auto& reducer : reducers_) reducer->found_all(pass_);
  }
  if (reduced_count_ < reducers_.size()) {
    return callbacks_.reduce(pass_, reducers_[reduced_count_], std::exchange(gradients_, {}));
  }
  ledger_.add_gradients(pass_, std::exchange(gradients_, {}));
  ledger_.note_used(pass_, std::move(with_gradient_));
  perform(tracker_.finished());
}

bool BackwardPass::waits_for_roots() const {
  const auto* walk = std::get_if<backward_actions::Walk>(&steps_.front());
  return walk != nullptr && walk->from_roots && !roots_;
}

GraphStep BackwardPass::graph_step(const Start& /*start*/) const { return StartRoots{*roots_}; }
GraphStep BackwardPass::graph_step(FeedSend& feed) const { return std::move(feed); }
GraphStep BackwardPass::graph_step(const ReleaseGraph& release) const { return release; }

GraphStep BackwardPass::graph_step(const backward_actions::Walk& walk) const {
  MarkGraph mark;
  if (walk.from_roots) mark.roots = *roots_;
  for (const BoundaryId& boundary : walk.boundaries) mark.sends.push_back(ledger_.find_send(boundary));
  mark.must_reach = walk.must_reach;
  return mark;
}

Result<backward_actions::BoundariesByPeer> BackwardPass::peers_of(
    const std::vector<std::shared_ptr<const RecvFn>>& reached) const {
  backward_actions::BoundariesByPeer peers;
  for (const auto& recv : reached) {
    const RecvTag* tag = tag_of(*recv);
    if (tag == nullptr || tag->context != context_) {
      return own_error(ErrorCode::bad_argument,
                       fmt::format("[backward] the graph reaches a value that was received in context {}, not in {}",
                                   tag == nullptr ? "?" : tag->context.text(), context_.text()));
    }
    peers[tag->peer].push_back(tag->boundary);
  }
  return peers;
}

Error BackwardPass::own_error(ErrorCode code, std::string message) const {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.peer = self_;
  error.operation = "backward";
  return error;
}

void BackwardPass::end(Result<Unit> outcome) {
  outcome_ = std::move(outcome);
  steps_.clear();
  if (!outcome_->ok()) tell_reducers(outcome_->error());
  for (const ReleaseAnswer& answer : std::exchange(release_answers_, {})) {
    answer(own_error(ErrorCode::context_aborted, "the pass has ended"));
  }
  for (auto& [mark, answer] : std::exchange(unanswered_, {})) {
    answer({context_, pass_, {}, outcome_->ok() ? std::nullopt : std::optional(outcome_->error())});
  }
}

}  // namespace troupe::detail
