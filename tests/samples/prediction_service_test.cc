#include "samples/embed/prediction_service.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/function_registry.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tests/support/hold.h"

namespace samples::testing {
BOOST_AUTO_TEST_SUITE(prediction_service)

namespace {

using namespace std::chrono_literals;
using namespace troupe;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Answer {
  int status = 0;  ///< 0: no response
  json body;
};

Answer answer_of(const httplib::Result& result) {
  if (!result) return {};
  return {result->status, json::parse(result->body, nullptr, false)};
}

Answer ask(const PredictionService& service, const std::string& body) {
  httplib::Client client("127.0.0.1", service.port());
  return answer_of(client.Post("/predict", body, "application/json"));
}

Answer health(const PredictionService& service) {
  httplib::Client client("127.0.0.1", service.port());
  return answer_of(client.Get("/health"));
}

const std::string kQuestion = R"({"points": [[0, 1], [1, -0.5]]})";

std::vector<float> expected() {
  const Tensor chances = MoonNet(1).chances(from_values<float>({0, 1, 1, -0.5F}, {2, 2}));
  return {chances.data<float>().begin(), chances.data<float>().end()};
}

/// A cluster over sockets, whose nodes join and leave.
struct World {
  const ClusterSecret secret = ClusterSecret::random();

  [[nodiscard]] Node join(NodeName name, std::string seed = {}) const {
    NodeOptions options;
    options.name = std::move(name);
    options.cluster_id = "embed";
    options.world_size = 0;
    options.seed = std::move(seed);
    options.secret = secret;
    return Node::join(std::move(options), model_functions());
  }
};

/// Trains until its node ends.
MoonNet learn_for_ever(Scope& scope, std::uint64_t seed) {
  troupe::testing::hold(scope);
  return MoonNet(seed);
}

}  // namespace

BOOST_AUTO_TEST_CASE(answers_are_those_of_an_equal_network_here) {
  LocalCluster cluster({"service", "model"}, model_functions());
  const PredictionService service(cluster.node("service"), {});
  const Answer answer = ask(service, kQuestion);
  BOOST_TEST_REQUIRE(answer.status == 200);
  BOOST_TEST(answer.body.at("chances").get<std::vector<float>>() == expected(), boost::test_tools::per_element());
  BOOST_TEST(health(service).status == 200);
}

BOOST_AUTO_TEST_CASE(requests_at_once_share_one_network) {
  LocalCluster cluster({"service", "model"}, model_functions());
  const PredictionService service(cluster.node("service"), {});
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < 16; ++i)
    answers.push_back(std::async(std::launch::async, [&service] { return ask(service, kQuestion); }));
  for (auto& answer : answers) BOOST_TEST(answer.get().status == 200);
  BOOST_TEST(cluster.node("model").counts().owned_values == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_no_question_is_answered_with_400_and_why) {
  LocalCluster cluster({"service", "model"}, model_functions());
  const PredictionService service(cluster.node("service"), {});
  const std::string expects = R"(expected {"points": [[x, y], ...]})";
  for (const char* body :
       {"[]", "{}", R"({"points": 1})", R"({"points": []})", R"({"points": [1]})", R"({"points": [[1]]})",
        R"({"points": [[1, 2, 3]]})", R"({"points": [[1, "2"]]})", R"({"points": [[1, null]]})"}) {
    const Answer answer = ask(service, body);
    BOOST_TEST(answer.status == 400, body);
    BOOST_TEST(answer.body.value("error", "") == expects, body);
  }
  for (const char* body : {"{", "{\"points\": \"\xff\"}"}) {
    const Answer answer = ask(service, body);
    BOOST_TEST(answer.status == 400, body);
    BOOST_TEST(answer.body.value("error", "").find("parse error") != std::string::npos, body);
  }
  BOOST_TEST(ask(service, R"({"points": [[1, 1e300]]})").body.value("error", "") ==
             "not a number that f32 has: 1e+300");
  BOOST_TEST(ask(service, std::string(100'000, '[')).status == 400);
  BOOST_TEST(ask(service, std::string(2 << 20, ' ')).status == 413);
  BOOST_TEST(cluster.node("model").counts().owned_values == 0U);
}

BOOST_AUTO_TEST_CASE(without_the_model_node_it_answers_503_at_once_and_with_its_next_life_200) {
  const World world;
  Node node = world.join("service");
  const PredictionService service(node, {.deadline = 10s});
  BOOST_TEST(ask(service, kQuestion).status == 503);
  for (int life = 0; life < 2; ++life) {
    std::optional<Node> model(world.join("model", node.address()));
    BOOST_TEST(ask(service, kQuestion).status == 200);
    BOOST_TEST(health(service).status == 200);
    model.reset();

    const auto asked = Clock::now();
    for (int i = 0; i < 2; ++i) {
      const Answer answer = ask(service, kQuestion);
      BOOST_TEST(answer.status == 503);
      const std::string error = answer.body.value("error", "");
      BOOST_TEST(error.find(" on model: shutting_down: it has shut down") != std::string::npos, error);
    }
    BOOST_TEST(health(service).status == 503);
    BOOST_TEST(std::chrono::duration<double>(Clock::now() - asked).count() < 5.0);  // half of one deadline
  }
}

BOOST_AUTO_TEST_CASE(a_life_that_began_between_two_requests_goes_unnoticed) {
  const World world;
  Node node = world.join("service");
  const PredictionService service(node, {});
  for (int life = 0; life < 3; ++life) {
    const Node model = world.join("model", node.address());
    BOOST_TEST(ask(service, kQuestion).status == 200);
  }
}

BOOST_AUTO_TEST_CASE(a_network_that_is_late_costs_a_request_its_deadline_and_is_not_made_twice) {
  const FunctionRegistry late{{"MoonNet", &learn_for_ever}, {"chances", &MoonNet::chances}};
  LocalCluster cluster({"service", "model"}, model_functions(), {.pool = {}, .functions = {{"model", late}}});
  const PredictionService service(cluster.node("service"), {.deadline = 50ms});
  for (int i = 0; i < 2; ++i) {
    const Answer answer = ask(service, kQuestion);
    BOOST_TEST(answer.status == 504);
    BOOST_TEST(answer.body.value("error", "").find("timeout") != std::string::npos);
  }
  BOOST_TEST(cluster.node("model").counts().owned_values == 1U);
}

BOOST_AUTO_TEST_CASE(a_port_that_is_taken_is_refused_with_its_number) {
  LocalCluster cluster({"service", "model"}, model_functions());
  const PredictionService first(cluster.node("service"), {});
  try {
    const PredictionService second(cluster.node("service"), {.port = first.port()});
    BOOST_TEST(false, "two services have one port");
  } catch (const std::runtime_error& error) {
    BOOST_TEST(error.what() == "cannot listen on port " + std::to_string(first.port()) + " of 127.0.0.1");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace samples::testing
