// A node that lets its peers call some of its functions only.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

#include "actors/op.h"
#include "actors/rref.h"
#include "node/local_cluster.h"
#include "node/node.h"
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
Number ask_oneself(Scope& scope, Number x) { return scope.rpc_sync("bank", &forbidden, x); }

FunctionRegistry bank_functions() {
  return {{"next", &next},           {"forbidden", &forbidden},      {"ask_oneself", &ask_oneself},
          {"account", make_account}, {"Account.add", &Account::add}, {"Account.amount", &Account::amount}};
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

}  // namespace

BOOST_AUTO_TEST_CASE(a_peer_calls_what_it_was_granted_and_nothing_else, *label("attack")) {
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

BOOST_AUTO_TEST_CASE(member_functions_of_a_value_need_a_grant_and_fetching_it_does_not, *label("attack")) {
  LocalCluster cluster({"bank", "customer"}, bank_functions(), granting({"account", "Account.amount", "next"}));
  Node& customer = cluster.node("customer");
  const RRef<Account> account = customer.remote("bank", make_account, Number{10});
  BOOST_TEST(account.rpc_sync(customer, &Account::amount) == 10);
  expect_refused("Account.add", [&] { return account.rpc_async(customer, &Account::add, Number{100}).get(), 0; });
  BOOST_TEST(account.rpc_sync(customer, &Account::amount) == 10);
  BOOST_TEST(customer.remote("bank", &next, Number{1}).to_here(customer) == 2);
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

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
