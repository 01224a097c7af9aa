#include "tests/actors/contexts/context_programs.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <random>

#include "autograd/ops.h"

namespace troupe::testing::programs {

std::shared_ptr<ContextWorld::Answer> chain(ContextWorld& world, Place& here) {
  const Variable x = world.leaf("trainer", "x", {3, 4});
  const Variable w0 = world.leaf("ps0", "w0", {4, 4});
  const Variable w1 = world.leaf("ps1", "w1", {4, 2});
  const Values hidden =
      world.call(here, "ps0", {x}, [&](Place&, const Values& in) { return Values{tanh(matmul(in[0], w0))}; });
  const Values out =
      world.call(here, "ps1", hidden, [&](Place&, const Values& in) { return Values{matmul(in[0], w1)}; });
  return world.backward({sum(out[0])});
}

std::shared_ptr<ContextWorld::Answer> diamond(ContextWorld& world, Place& here) {
  const Variable x = world.leaf("trainer", "x", {3, 4});
  const Variable w0 = world.leaf("ps0", "w0", {4, 4});
  const Variable w1 = world.leaf("ps1", "w1", {4, 4});
  const Values a = world.call(here, "ps0", {x}, [&](Place&, const Values& in) { return Values{matmul(in[0], w0)}; });
  const Values b =
      world.call(here, "ps1", {x}, [&](Place&, const Values& in) { return Values{tanh(matmul(in[0], w1))}; });
  return world.backward({sum(mul(a[0], b[0]))});
}

std::shared_ptr<ContextWorld::Answer> there_and_back(ContextWorld& world, Place& here) {
  const Variable x = world.leaf("trainer", "x", {3, 4});
  const Variable w = world.leaf("trainer", "w", {4, 4});
  const Variable v = world.leaf("ps0", "v", {4, 4});
  const Values y = world.call(here, "ps0", {x}, [&](Place& ps, const Values& in) {
    const Values z = world.call(ps, "trainer", {matmul(in[0], v)},
                                [&](Place&, const Values& back) { return Values{matmul(tanh(back[0]), w)}; });
    return Values{mul(z[0], in[0])};
  });
  return world.backward({sum(matmul(y[0], w))});
}

// The example of PyTorch's note on distributed autograd, whose FAST mode waits for ever for the unused result.
std::shared_ptr<ContextWorld::Answer> unused_result(ContextWorld& world, Place& here) {
  const Variable t1 = world.leaf("trainer", "t1", {3, 3});
  const Variable t2 = world.leaf("trainer", "t2", {3, 3});
  const auto product = [](Place&, const Values& in) { return Values{mul(in[0], in[1])}; };
  const Values t3 =
      world.call(here, "ps0", {t1, t2}, [](Place&, const Values& in) { return Values{add(in[0], in[1])}; });
  const Values unused = world.call(here, "ps0", {t1, t3[0]}, product);
  const Values t5 = world.call(here, "ps0", {t3[0], t2}, product);
  return world.backward({sum(t5[0])});
}

std::shared_ptr<ContextWorld::Answer> two_roots(ContextWorld& world, Place& here) {
  const Variable x = world.leaf("trainer", "x", {3, 4});
  const Variable w = world.leaf("ps0", "w", {4, 4});
  RRefId there;
  const Values y = world.call(here, "ps0", {x}, [&](Place&, const Values& in) {
    const Variable hidden = matmul(in[0], w);
    there = world.keep("ps0", mean(mul(hidden, hidden)));
    return Values{hidden};
  });
  return world.backward({sum(tanh(y[0]))}, {{"ps0", {there}}});
}

std::shared_ptr<ContextWorld::Answer> many_uses(ContextWorld& world, Place& here) {
  const Variable x = world.leaf("trainer", "x", {3, 3});
  const Variable w0 = world.leaf("ps0", "w0", {3, 3});
  const Variable w1 = world.leaf("ps1", "w1", {3, 3});
  const auto twice = [&](const Variable& w) {
    return [&world, &w](Place&, const Values& in) { return Values{add(matmul(in[0], w), mul(in[0], w))}; };
  };
  const Values a = world.call(here, "ps0", {x}, twice(w0));
  const Values b = world.call(here, "ps1", {x}, twice(w1));
  const Values c = world.call(here, "ps0", {x}, twice(w0));
  const Values d = world.call(here, "ps1", {x}, twice(w1));
  return world.backward({sum(add(add(mul(a[0], b[0]), mul(c[0], d[0])), tanh(x)))});
}

namespace {

class RandomGraph {
 public:
  RandomGraph(ContextWorld& world, std::uint64_t choices) : world_(world), random_(choices) {
    for (const char* name : kNames) leaves_[name] = world.leaf(name, std::string("of ") + name, {2, 2});
  }

  std::shared_ptr<ContextWorld::Answer> run(Place& here) {
    const Values made = body(here, {leaves_["trainer"]}, 0);
    return world_.backward({sum(mul(made.back(), made[pick(made.size())]))});
  }

 private:
  static constexpr std::array kNames{"trainer", "ps0", "ps1"};

  std::size_t pick(std::size_t count) { return random_() % count; }

  Values body(Place& here, Values values, int depth) {
    for (std::size_t steps = 2 + pick(4); steps > 0; --steps) {
      const Variable a = values[pick(values.size())];
      const Variable b = values[pick(values.size())];
      if (depth < 2 && pick(2) == 0) {
        const auto again = [this, depth](Place& there, const Values& in) {
          Values all = in;
          all.push_back(leaves_[there.name]);
          const Values made = body(there, all, depth + 1);
          return Values{made.back(), made[pick(made.size())]};
        };
        for (const Variable& result : world_.call(here, kNames[pick(kNames.size())], {a, b}, again))
          values.push_back(result);
      } else if (pick(2) == 0) {
        values.push_back(tanh(matmul(a, b)));
      } else {
        values.push_back(add(mul(a, b), a));
      }
    }
    return values;
  }

  ContextWorld& world_;
  std::mt19937_64 random_;
  std::map<std::string, Variable> leaves_;
};

}  // namespace

Program random_graph(std::uint64_t choices) {
  return [choices](ContextWorld& world, Place& here) { return RandomGraph(world, choices).run(here); };
}

const std::vector<ProgramShape>& shapes() {
  static const std::vector<ProgramShape> all{{"chain", chain},
                                             {"diamond", diamond},
                                             {"there and back", there_and_back},
                                             {"unused result", unused_result},
                                             {"two roots, one remote", two_roots},
                                             {"x twice on each of two callees and once here", many_uses}};
  return all;
}

std::map<std::string, Tensor> gradients_of(const Program& program, Placement placement, std::uint64_t seed, int copies,
                                           bool tells_routes) {
  ContextWorld world(placement, seed);
  world.copies = copies;
  world.tells_routes = tells_routes;
  std::shared_ptr<ContextWorld::Answer> answer;
  world.drive([&](Place& here) { answer = program(world, here); });
  world.settle();
  BOOST_REQUIRE_MESSAGE(answer->result, "the pass was not answered");
  BOOST_REQUIRE_MESSAGE(answer->result->ok(), (answer->result->ok() ? "" : answer->result->error().text()));
  if (tells_routes && !world.has_remote_roots()) BOOST_TEST(world.mark_count() == 0);
  return world.gradients();
}

void check_same_bits(const std::map<std::string, Tensor>& got, const std::map<std::string, Tensor>& expected) {
  BOOST_REQUIRE_EQUAL(got.size(), expected.size());
  for (const auto& [label, gradient] : expected) {
    BOOST_REQUIRE(got.contains(label));
    BOOST_CHECK_MESSAGE(same_bytes(got.at(label), gradient), "gradient of " << label << " differs");
  }
}

}  // namespace troupe::testing::programs
