// A node that lets its peers call some of its functions only.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

#include "actors/calls/listed_grants.h"
#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/embedding/sharded_embedding.h"
#include "actors/op.h"
#include "actors/references/naming.h"
#include "actors/rref.h"
#include "actors/stream.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "node/node.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(grants)

namespace {

using boost::unit_test::label;
using Number = std::int64_t;

int times_run = 0;  // by this test's thread's calls, one at a time

class Account {
 public:
  explicit Account(Number amount) : amount_(amount) {}
  void add(Number amount) { amount_ += amount; }
  [[nodiscard]] Number amount() const { return amount_; }

 private:
  Number amount_;
};

constexpr auto make_account = constructor<Account, Number>;

Number next(Number x) {
  ++times_run;
  return x + 1;
}
Number forbidden(Number x) {
  ++times_run;
  return x;
}
std::string word() { return "model"; }
Variable make_weight() { return Variable(ones({2}), RequiresGrad::yes); }
Variable doubled(Scope& scope, const RRef<Variable>& weight) { return *weight.local_value(scope) * 2.0; }
Number ask_oneself(Scope& scope, Number x) { return scope.rpc_sync("bank", &forbidden, x); }

Stream<Number> count_to(Number end) {
  for (Number i = 1; i <= end; ++i) co_yield i;
}

FunctionRegistry bank_functions() {
  return {{"next", &next},           {"forbidden", &forbidden},      {"ask_oneself", &ask_oneself},
          {"account", make_account}, {"Account.add", &Account::add}, {"Account.amount", &Account::amount},
          {"word", &word},           {"make_weight", &make_weight},  {"doubled", &doubled},
          {"count_to", &count_to}};
}

LocalClusterOptions granting(const std::vector<std::string>& functions) {
  LocalClusterOptions options;
  options.call_grants["bank"].allow("customer", functions);
  return options;
}

template <class Call>
void expect_refused(const std::string& function, const Call& call) {
  const int before = times_run;
  const Error error = error_of(call);
  BOOST_TEST((error.code == ErrorCode::not_authorized));
  BOOST_TEST(error.message == "customer may not call \"" + function + "\" of bank");
  BOOST_TEST((error.execution == Execution::never));
  BOOST_TEST(times_run == before);
}

/// A bank whose list of members withholds one right from the customer, and none from the clerk.
struct Withholding {
  explicit Withholding(detail::ValueRight right) : word(right == detail::ValueRight::owns ? "owns" : "reads") {
    detail::ListedGrants grants;
    (right == detail::ValueRight::owns ? grants.without_owns : grants.without_reads).insert("customer");
    for (const char* name : {"bank", "customer", "clerk"}) cluster.node(name).core().listed_grants().replace(grants);
    static_cast<void>(bank.publish<Account>("account", Account(10)));
    static_cast<void>(bank.publish<Variable>("weight", Variable(ones({2}), RequiresGrad::yes)));
  }

  template <class Call>
  void expect_refused(const std::string& message, const Call& call) const {
    const int before = times_run;
    const Error error = error_of(call);
    BOOST_TEST((error.code == ErrorCode::not_authorized), error.text());
    BOOST_TEST(error.message == message);
    BOOST_TEST(error.hint == "the list of members withholds `" + word + "`: its signer grants it with `troupe keys " +
                                 "grant customer --" + word + " \"*\"`");
    BOOST_TEST((error.execution == Execution::never));
    BOOST_TEST(times_run == before);
  }

  std::string word;
  LocalCluster cluster{{"bank", "customer", "clerk"}, bank_functions()};
  Node& bank = cluster.node("bank");
  Node& customer = cluster.node("customer");
  Node& clerk = cluster.node("clerk");
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_peer_calls_what_it_was_granted_and_nothing_else, *label("attack") * label("fault-F40")) {
  LocalCluster cluster({"bank", "customer", "clerk"}, bank_functions(), granting({"next", "ask_oneself"}));
  Node& customer = cluster.node("customer");
  BOOST_TEST(customer.rpc_sync("bank", &next, Number{1}) == 2);
  expect_refused("forbidden", [&] { return customer.rpc_sync("bank", &forbidden, Number{1}); });
  expect_refused("forbidden", [&] { return customer.remote("bank", &forbidden, Number{1}).to_here(customer); });
  BOOST_TEST((error_of([&] { return cluster.node("clerk").rpc_sync("bank", &next, Number{1}); }).code ==
              ErrorCode::not_authorized));
  // The node itself may, also on behalf of a peer; and other nodes grant what they like.
  BOOST_TEST(customer.rpc_sync("bank", &ask_oneself, Number{5}) == 5);
  BOOST_TEST(customer.rpc_sync("clerk", &forbidden, Number{6}) == 6);
}

BOOST_AUTO_TEST_CASE(member_functions_of_a_value_need_a_grant_and_fetching_it_does_not,
                     *label("attack") * label("fault-F40")) {
  LocalCluster cluster({"bank", "customer"}, bank_functions(), granting({"account", "Account.amount", "next"}));
  Node& customer = cluster.node("customer");
  const RRef<Account> account = customer.remote("bank", make_account, Number{10});
  BOOST_TEST(account.rpc_sync(customer, &Account::amount) == 10);
  expect_refused("Account.add", [&] { return account.rpc_async(customer, &Account::add, Number{100}).get(), 0; });
  BOOST_TEST(account.rpc_sync(customer, &Account::amount) == 10);
  BOOST_TEST(customer.remote("bank", &next, Number{1}).to_here(customer) == 2);
}

BOOST_AUTO_TEST_CASE(what_nobody_gave_to_a_peer_needs_a_grant_also_of_troupe_itself,
                     *label("attack") * label("fault-F40")) {
  LocalCluster cluster({"bank", "customer"}, bank_functions(), granting({"word"}));
  Node& bank = cluster.node("bank");
  Node& customer = cluster.node("customer");
  static_cast<void>(bank.publish<Number>("model", 7));
  expect_refused("troupe.find", [&] { return customer.find<Number>("bank", "model").to_here(customer); });
  const RRef<std::string> name = customer.remote("bank", &word);
  const std::string identity = detail::identity_of<Number>();
  expect_refused("troupe.find", [&] { return name.rpc_sync(customer, &detail::find_published, identity); });
  expect_refused("troupe.embedding_shard",
                 [&] { return ShardedEmbedding(customer, {"bank"}, {.rows = 8, .width = 2}); });
}

BOOST_AUTO_TEST_CASE(what_troupe_does_is_granted_by_its_name) {
  LocalCluster cluster({"bank", "customer"}, bank_functions(), granting({"troupe.find", "troupe.embedding_shard"}));
  static_cast<void>(cluster.node("bank").publish<Number>("model", 7));
  Node& customer = cluster.node("customer");
  BOOST_TEST(customer.find<Number>("bank", "model").to_here(customer) == 7);
  const ShardedEmbedding table(customer, {"bank"}, {.rows = 8, .width = 2});
  BOOST_TEST((table.pull_rows(customer, zeros({1}, DType::i64)).shape() == Shape{1, 2}));
}

BOOST_AUTO_TEST_CASE(what_troupe_does_on_values_that_a_peer_was_given_needs_no_grant) {
  LocalCluster cluster({"bank", "customer"}, bank_functions(), granting({"make_weight", "doubled"}));
  Node& customer = cluster.node("customer");
  const RRef<Variable> weight = customer.remote("bank", &make_weight);
  const DistContext context(customer);
  const Variable loss = sum(context.rpc_sync("bank", &doubled, weight));
  backward(context, loss);
  BOOST_TEST(sum(context.grad(weight)).item() == 4.0);
  BOOST_TEST(context.gradients("bank").size() == 1U);
  BOOST_TEST(context.unused_boundaries().empty());
}

BOOST_AUTO_TEST_CASE(a_grant_of_a_function_that_does_not_exist_is_refused_at_the_start) {
  NodeOptions options;
  options.name = "bank";
  options.call_grants.allow("customer", {"nxt", "troupe.*", "Account.*"});
  const Error error = error_of([&] { (void)Node::join(options, bank_functions()); });
  BOOST_TEST((error.code == ErrorCode::bad_argument));
  BOOST_TEST(error.message ==
             "calls of \"nxt\" are granted, but this node has no such function, did you mean \"next\"?");
  BOOST_TEST(error.hint.starts_with("it serves: Account.add, "));
}

BOOST_AUTO_TEST_CASE(a_member_without_owns_makes_nothing_on_others_that_outlasts_a_call,
                     *label("attack") * label("S6") * label("fault-F40")) {
  const Withholding run(detail::ValueRight::owns);
  const std::string refusal = "customer may not make values on bank";
  const auto account = run.customer.find<Account>("bank", "account");
  run.expect_refused(refusal, [&] { return run.customer.remote("bank", &next, Number{1}).to_here(run.customer); });
  run.expect_refused(refusal, [&] { return account.remote(run.customer, &Account::amount).to_here(run.customer); });
  const auto optimizer = [](Node& node) {
    return DistOptimizer(node, optim::SgdOptions{.lr = 1.0}, {node.find<Variable>("bank", "weight")});
  };
  run.expect_refused(refusal, [&] { return optimizer(run.customer); });
  const DistOptimizer own = optimizer(run.bank);
  run.expect_refused(refusal, [&] { return DistOptimizer(run.customer, own.share()); });
  const DistContext context(run.customer);
  run.expect_refused(refusal, [&] { return context.gradients("bank").size(); });
  // It calls and reads; on its own node it may do all; and others may do what it may not.
  BOOST_TEST(account.rpc_sync(run.customer, &Account::amount) == 10);
  const auto weight = run.customer.find<Variable>("bank", "weight");
  BOOST_TEST(sum(weight.to_here(run.customer).value()).item() == 2.0);
  BOOST_TEST(run.customer.remote("customer", &next, Number{1}).to_here(run.customer) == 2);
  BOOST_TEST(run.clerk.remote("bank", &next, Number{2}).to_here(run.clerk) == 3);
}

BOOST_AUTO_TEST_CASE(a_member_without_reads_gets_no_copy_of_a_value_of_others,
                     *label("attack") * label("S6") * label("fault-F40")) {
  const Withholding run(detail::ValueRight::reads);
  const std::string refusal = "customer may not read values of bank";
  const auto weight = run.customer.find<Variable>("bank", "weight");
  run.expect_refused(refusal, [&] { return weight.to_here(run.customer); });
  run.expect_refused(refusal, [&] { return weight.cached(run.customer); });
  const DistContext context(run.customer);
  run.expect_refused(refusal, [&] { return context.grad(weight); });
  const DistOptimizer optimizer(run.customer, optim::SgdOptions{.lr = 1.0}, {weight});
  run.expect_refused(refusal, [&] { return optimizer.state_dict(run.customer); });
  run.expect_refused(refusal, [&] { return context.gradients("bank").size(); });
  const auto pulled = ShardedEmbedding(run.customer, {"bank"}, {.rows = 8, .width = 2});
  run.expect_refused(refusal, [&] { return pulled.pull_rows(run.customer, zeros({1}, DType::i64)); });
  // It calls, makes values, awaits them and trains, also with a bound on the norm of all gradients; an element of a
  // stream is an answer to a call.
  const auto account = run.customer.find<Account>("bank", "account");
  BOOST_TEST(account.rpc_sync(run.customer, &Account::amount) == 10);
  const Variable loss = sum(context.rpc_sync("bank", &doubled, weight));
  backward(context, loss);
  BOOST_TEST(context.unused_boundaries().empty());
  optimizer.step(context, {.max_norm = 1e9});
  BOOST_TEST(sum(run.clerk.find<Variable>("bank", "weight").to_here(run.clerk).value()).item() ==
             -2.0);  // 2 * (1 - 1.0 * 2)
  BOOST_TEST(pulled.parameters(run.customer).size() == 1U);
  run.customer.remote("bank", &next, Number{1}).created(run.customer).get();
  auto numbers = run.customer.rpc_sync("bank", &count_to, Number{2});
  BOOST_TEST(numbers.next(run.customer).value() == 1);
  BOOST_TEST(run.customer.remote("customer", &next, Number{1}).to_here(run.customer) == 2);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
