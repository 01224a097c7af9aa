#include "autograd/grad_fn.h"

#include <algorithm>
#include <vector>

#include "autograd/boundary.h"
#include "autograd/checkpoint.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(grad_fn)

namespace {

struct Received {
  std::shared_ptr<const RecvFn> recv = RecvFn::make(1);
  Variable value = RecvFn::variable(recv, 0, ones({2}));
};

const std::shared_ptr<const ReceivedSet>& set_of(const Variable& x) { return x.gradient_edge().fn->received(); }

void check_depends_on(const Variable& x, std::vector<const GradFn*> recvs) {
  std::ranges::sort(recvs);
  BOOST_REQUIRE(set_of(x));
  BOOST_TEST(!set_of(x)->too_many);
  BOOST_TEST((set_of(x)->recvs == recvs));
}

}  // namespace

BOOST_AUTO_TEST_CASE(vertex_knows_the_recvfns_that_a_pass_from_it_reaches) {
  const Received a;
  const Received b;
  const Variable leaf(ones({2}), RequiresGrad::yes);
  BOOST_TEST(!set_of(leaf));
  BOOST_TEST(!set_of(leaf * leaf));
  check_depends_on(a.value, {a.recv.get()});
  check_depends_on(a.value * leaf, {a.recv.get()});
  check_depends_on(sum(a.value * leaf) + sum(b.value), {a.recv.get(), b.recv.get()});
  check_depends_on(a.value.detach() * b.value, {b.recv.get()});
  check_depends_on(split(concat(std::vector{a.value, b.value}), 1).back(), {a.recv.get(), b.recv.get()});
  const Variable replayed = checkpoint([&](const Variable& x) { return x * b.value; }, a.value);
  check_depends_on(replayed, {a.recv.get(), b.recv.get()});
  const auto send = SendFn::make(std::vector{a.value, leaf, replayed});
  BOOST_TEST((send->received()->recvs == set_of(replayed)->recvs));
}

BOOST_AUTO_TEST_CASE(vertices_with_the_same_recvfns_share_one_set) {
  const Received a;
  const Received b;
  const Variable both = a.value + b.value;
  const Variable more = tanh(both) * a.value + both;
  BOOST_TEST(set_of(more).get() == set_of(both).get());
}

BOOST_AUTO_TEST_CASE(set_ends_at_its_bound_and_says_so) {
  std::vector<Received> received(ReceivedSet::kMax + 1);
  Variable all = received[0].value;
  for (std::size_t i = 1; i < ReceivedSet::kMax; ++i) all = all + received[i].value;
  BOOST_TEST(set_of(all)->recvs.size() == ReceivedSet::kMax);
  const Variable too_many = all + received.back().value;
  BOOST_TEST(set_of(too_many)->too_many);
  BOOST_TEST(set_of(too_many)->recvs.empty());
  BOOST_TEST(set_of(received[3].value * too_many)->too_many);
  BOOST_TEST(set_of(too_many * received[3].value)->too_many);
}

BOOST_AUTO_TEST_CASE(work_counts_vertices_and_the_elements_at_their_edges_also_of_constants) {
  const auto work_of = [](const Variable& x) { return x.gradient_edge().fn->work(); };
  const Variable leaf(ones({3}), RequiresGrad::yes);
  BOOST_TEST(work_of(leaf) == 1U);
  const Variable product = leaf * Variable(ones({5, 3}));
  BOOST_TEST(work_of(product) == 1U + (3 + 1) + 15);
  BOOST_TEST(work_of(sum(product)) == 1U + (15 + work_of(product)));
  BOOST_TEST(work_of(product + product) == 1U + 2 * (15 + work_of(product)));
  Variable doubled = leaf;
  for (int i = 0; i < 40; ++i) doubled = doubled + doubled;
  BOOST_TEST(work_of(doubled) == GradFn::kAnyWork);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
