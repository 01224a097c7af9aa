#include "actors/core/id_secrets.h"

#include <boost/test/unit_test.hpp>
#include <set>

namespace troupe {
namespace {

using detail::IdSecrets;
using Kind = IdSecrets::Kind;

BOOST_AUTO_TEST_SUITE(id_secrets)

BOOST_AUTO_TEST_CASE(each_id_of_each_kind_has_a_secret_of_its_own) {
  const IdSecrets secrets = IdSecrets::drawn();
  std::set<IdSecret> seen;
  for (std::uint64_t serial = 0; serial < 1000; ++serial) {
    for (const Kind kind : {Kind::rref, Kind::context, Kind::optimizer}) seen.insert(secrets.secret_for(kind, serial));
  }
  BOOST_TEST(seen.size() == 3000U);
  BOOST_TEST((secrets.secret_for(Kind::rref, 7) == secrets.secret_for(Kind::rref, 7)));
}

BOOST_AUTO_TEST_CASE(nodes_draw_different_keys_and_simulated_ones_know_theirs) {
  const IdSecret one = IdSecrets::drawn().secret_for(Kind::rref, 1);
  BOOST_TEST((one != IdSecrets::drawn().secret_for(Kind::rref, 1)));
  const IdSecret known = IdSecrets::known({5, 6}).secret_for(Kind::rref, 1);
  BOOST_TEST((known == IdSecrets::known({5, 6}).secret_for(Kind::rref, 1)));
  BOOST_TEST((known != IdSecrets::known({5, 7}).secret_for(Kind::rref, 1)));
}

// The vector of SipHash-2-4's authors with 128 bits of output: key 00 01 .. 0f, input 00 01 .. 08; computed apart from
// libsodium.
BOOST_AUTO_TEST_CASE(secrets_are_those_of_siphash) {
  const IdSecrets secrets = IdSecrets::known({0x0706050403020100, 0x0F0E0D0C0B0A0908});
  const IdSecret secret = secrets.secret_for(Kind::rref, 0x0807060504030201);
  BOOST_TEST(secret.high == 0xABBAD90A06994426U);
  BOOST_TEST(secret.low == 0xED716DBB028B7FC4U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
