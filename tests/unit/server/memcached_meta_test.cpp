// Goal: the meta commands of memcached have the effects and the replies of memcached 1.6.18, with
// stale items and winners.
// Method: a connection to a key space in ordinary memory; each input is sent whole and cut at every
// byte. The expected replies are those of a real memcached, except for E, which it does not have.
#include <tests/support/memcached_session.hpp>

#include <gtest/gtest.h>

#include <string>

namespace outlast::server {
namespace {

using test::for_each_cut;
using test::memcached_session;

TEST(MemcachedMeta, mg_returns_what_its_flags_ask_for_in_their_order) {
  for_each_cut([](memcached_session& client) {
    client.space.set_next_unique(70);
    client.send("set a 5 100 3\r\nabc\r\n");
    client.now_ms += 2'000;
    EXPECT_EQ(client.send("mg a\r\nmg a v\r\n"), "HD\r\nVA 3\r\nabc\r\n");
    client.now_ms += 3'000;
    EXPECT_EQ(client.send("mg a v q k f s t c h l Oabc\r\n"),
              "VA 3 ka f5 s3 t95 c70 h1 l3 Oabc\r\nabc\r\n");
    EXPECT_EQ(client.send("mg a t P/x Lx s\r\n"), "HD t95 s3\r\n");
  });
}

TEST(MemcachedMeta, a_miss_returns_key_and_opaque_and_nothing_with_q) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("mg a v\r\nmg a k v Oxy\r\nmg a q k\r\nmn\r\n"),
              "EN\r\nEN ka Oxy\r\nMN\r\n");
    EXPECT_EQ(client.send("md a q\r\nma a q\r\nmd a k O1 t\r\n"), "NF\r\nNF\r\nNF ka O1\r\n");
  });
}

TEST(MemcachedMeta, u_does_not_count_as_a_use) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\nx\r\n");
    EXPECT_EQ(client.send("mg a h u\r\nmg a h u\r\nmg a h\r\nmg a h\r\n"),
              "HD h0\r\nHD h0\r\nHD h0\r\nHD h1\r\n");
    client.send("set a 0 0 1\r\nx\r\n");
    EXPECT_EQ(client.send("mg a u T30\r\nmg a h u\r\nmg n N30 u\r\nmg n h u\r\n"),
              "HD\r\nHD h0\r\nHD W\r\nHD h0 Z\r\n");
  });
}

TEST(MemcachedMeta, keys_in_base64_are_decoded_and_returned_as_such) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("ms YSBiDQo= 1 b k\r\nx\r\nmg YSBiDQo= b k v\r\nmg YSBiDQo= k b O1\r\n"),
              "HD kYSBiDQo= b\r\nVA 1 kYSBiDQo= b\r\nx\r\nHD kYSBiDQo= b O1\r\n");
    EXPECT_EQ(client.send("set ab 0 0 1\r\ny\r\nmg YWI= b v\r\nmg YWM= b v\r\n"),
              "STORED\r\nVA 1\r\ny\r\nEN\r\n");
    const std::string bad = "CLIENT_ERROR error decoding key\r\n";
    EXPECT_EQ(client.send("mg YQ b\r\nmg !!!! b\r\nmg ==== b\r\nmg YQ=A b\r\nms YQ 1 b\r\nx\r\n"),
              bad + bad + bad + bad + bad);
    EXPECT_EQ(client.send("me YSBiDQo= b\r\n"),
              "ME YSBiDQo= exp=-1 la=0 cas=1 fetch=yes cls=1 size=65\r\n");
  });
}

TEST(MemcachedMeta, wrong_flags_are_refused_with_memcacheds_texts) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("mg a k k\r\nmg a \xff\r\nmg a z\r\nmg a !\r\nmg a T\r\nmg a F\r\n"),
              "CLIENT_ERROR duplicate flag\r\nCLIENT_ERROR duplicate flag\r\n"
              "CLIENT_ERROR invalid flag\r\nCLIENT_ERROR invalid flag\r\n"
              "CLIENT_ERROR bad token in command line format\r\n"
              "CLIENT_ERROR bad command line format\r\n");
    EXPECT_EQ(
        client.send("mg a O" + std::string(32, 'x') + "\r\nmg a Mxx\r\nmg a Dx\r\nmg a Jx\r\n"),
        "CLIENT_ERROR opaque token too long\r\nCLIENT_ERROR incorrect length for M token\r\n"
        "CLIENT_ERROR invalid numeric delta value\r\n"
        "CLIENT_ERROR invalid numeric initial value\r\n");
    EXPECT_EQ(client.send("mg a N0 O" + std::string(32, 'x') + "\r\nmg a\r\n"),
              "CLIENT_ERROR opaque token too long\r\nEN\r\n");
    EXPECT_EQ(client.send("mg a Dx F\r\nmg a F Tx\r\n"),
              "CLIENT_ERROR invalid numeric delta value\r\n"
              "CLIENT_ERROR bad token in command line format\r\n");
    EXPECT_EQ(client.send("ma a !\r\nmd a Tx\r\nma a MX\r\n"),
              "CLIENT_ERROR invalid or duplicate flag\r\nCLIENT_ERROR invalid or duplicate flag\r\n"
              "CLIENT_ERROR invalid mode for ma M token\r\n");
    EXPECT_EQ(client.send("mg\r\nme\r\nms a\r\nms a x\r\nmg " + std::string(251, 'k') + "\r\n"),
              "ERROR\r\nCLIENT_ERROR bad command line format\r\n"
              "CLIENT_ERROR bad command line format\r\nCLIENT_ERROR bad command line format\r\n"
              "CLIENT_ERROR bad command line format\r\n");
  });
}

TEST(MemcachedMeta, more_than_17_words_after_the_key_are_refused) {
  for_each_cut([](memcached_session& client) {
    const std::string most = " k s t u v N1 O1 R1 T1 P1 L1 I J1 c f h";  // 16 flags
    EXPECT_EQ(client.send("md a" + most + " l\r\nmd a" + most + " l q\r\n"),
              "NF ka O1\r\nCLIENT_ERROR options flags too long\r\n");
    EXPECT_EQ(client.send("mg a" + most + " l q\r\n"),
              "CLIENT_ERROR options flags are too long\r\n");
    EXPECT_EQ(client.send("ms a 1" + most + "\r\nx\r\nms a 1" + most + " l\r\nx\r\n"),
              "HD ka O1 c1\r\nCLIENT_ERROR options flags too long\r\nERROR\r\n");
  });
}

TEST(MemcachedMeta, the_value_of_a_refused_ms_is_discarded) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send(
                  "ms a 4 !\r\nmn\r\n\r\nms a 4 MX q\r\nmn\r\n\r\nms a 4 Tx q\r\nmn\r\n\r\nmn\r\n"),
              "CLIENT_ERROR invalid flag\r\nCLIENT_ERROR invalid mode for ms M token\r\n"
              "CLIENT_ERROR bad token in command line format\r\nMN\r\n");
    EXPECT_EQ(client.send("ms a 3 q\r\nabcd\r\nmn\r\nmg a\r\n"),
              "CLIENT_ERROR bad data chunk\r\nERROR\r\nMN\r\nEN\r\n");
  });
}

TEST(MemcachedMeta, ms_has_the_modes_of_the_classic_commands) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("ms a 1 MR\r\n1\r\nms a 1 MA\r\n1\r\nms a 1 MP\r\n1\r\n"),
              "NS\r\nNS\r\nNS\r\n");
    EXPECT_EQ(client.send("ms a 1 ME F7 T100\r\n1\r\nms a 1 ME\r\n2\r\nms a 1 MA\r\n3\r\n"),
              "HD\r\nNS\r\nHD\r\n");
    EXPECT_EQ(client.send("ms a 1 MP F9 q\r\n0\r\nmg a v f t\r\n"), "VA 3 f7 t100\r\n013\r\n");
    EXPECT_EQ(client.send("ms a 1 MR q\r\n4\r\nmg a v f t\r\nms a 1 MS\r\n5\r\n"),
              "VA 1 f0 t-1\r\n4\r\nHD\r\n");
  });
}

TEST(MemcachedMeta, ms_stores_if_the_number_is_the_items) {
  for_each_cut([](memcached_session& client) {
    client.space.set_next_unique(70);
    EXPECT_EQ(client.send("ms a 1 C70\r\n1\r\nms a 1 C70 MR\r\n1\r\nms a 1 C70 MA c\r\n1\r\n"),
              "NF\r\nNF\r\nNS c0\r\n");
    EXPECT_EQ(client.send("ms a 1 c\r\n1\r\nms a 1 C69 c k Oq\r\n2\r\nms a 1 C71\r\n2\r\n"),
              "HD c70\r\nEX c0 ka Oq\r\nEX\r\n");
    EXPECT_EQ(client.send("ms a 1 C70 c q\r\n3\r\nms a 1 C70\r\n4\r\nmg a v c\r\n"),
              "EX\r\nVA 1 c71\r\n3\r\n");
    EXPECT_EQ(client.send("ms new 1 C5 ME\r\n1\r\nms new 1 ME q\r\n1\r\n"), "HD\r\nNS\r\n");
    EXPECT_EQ(client.send("md a C70\r\nmd a C71 q\r\nmg a\r\n"), "EX\r\nEN\r\n");
  });
}

TEST(MemcachedMeta, E_gives_an_item_its_number) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(
        client.send("ms a 1 E500 c\r\n5\r\nmg a c\r\nma a E600 c v\r\nmd a I E700\r\nmg a c\r\n"),
        "HD c500\r\nHD c500\r\nVA 1 c600\r\n6\r\nHD\r\nHD c700 X W\r\n");
    EXPECT_EQ(client.send("mg b N30 E800 c\r\nmg b c\r\n"), "HD c800 W\r\nHD c800 Z\r\n");
  });
}

TEST(MemcachedMeta, mg_with_N_creates_an_item_and_one_client_wins) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("mg a t N30 v k\r\nmg a N30 v t\r\nmg a s\r\n"),
              "VA 0 t-1 ka W\r\n\r\nVA 0 t30 Z\r\n\r\nHD s0 Z\r\n");
    EXPECT_EQ(client.send("mg a T50 t\r\nmg a t\r\n"), "HD t50 Z\r\nHD t50 Z\r\n");
    client.send("ms a 1\r\nx\r\n");
    EXPECT_EQ(client.send("mg a N30 v\r\n"), "VA 1\r\nx\r\n");
    client.send("mg b N30 q\r\n");
    client.now_ms += 30'000;
    EXPECT_EQ(client.send("mg b\r\n"), "EN\r\n");
  });
}

TEST(MemcachedMeta, mg_with_R_lets_one_client_win_before_the_item_expires) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 30 1\r\nx\r\nset never 0 0 1\r\nx\r\n");
    EXPECT_EQ(client.send("mg a R30\r\nmg never R30\r\n"), "HD\r\nHD\r\n");
    client.now_ms += 1'000;
    EXPECT_EQ(client.send("mg a R30 t\r\nmg a R30 t\r\nmg a\r\n"),
              "HD t29 W\r\nHD t29 Z\r\nHD Z\r\n");
    client.send("set a 0 30 1\r\nx\r\n");
    EXPECT_EQ(client.send("mg a T20 R25\r\n"), "HD W\r\n");
    client.send("set a 0 20 1\r\nx\r\n");
    EXPECT_EQ(client.send("mg a T40 R30 t\r\nmg a t T50 t\r\n"),
              "HD t40\r\nCLIENT_ERROR duplicate flag\r\n");
    client.now_ms += 30'000;
    EXPECT_EQ(client.send("mg a v\r\n"), "VA 1\r\nx\r\n");
  });
}

TEST(MemcachedMeta, md_with_I_makes_an_item_stale_and_one_client_wins) {
  for_each_cut([](memcached_session& client) {
    client.space.set_next_unique(70);
    client.send("set a 7 0 1\r\nx\r\n");
    EXPECT_EQ(client.send("md a I T30\r\nget a\r\n"), "HD\r\nVALUE a 7 1\r\nx\r\nEND\r\n");
    EXPECT_EQ(client.send("ms a 1 C70\r\ny\r\n"), "EX\r\n") << "the number has changed";
    EXPECT_EQ(client.send("mg a v t c f h\r\nmg a v h\r\n"),
              "VA 1 t30 c71 f7 h1 X W\r\nx\r\nVA 1 h1 Z X\r\nx\r\n");
    EXPECT_EQ(client.send("md a I\r\nmg a\r\n"), "HD\r\nHD X W\r\n");
    EXPECT_EQ(client.send("ms a 1\r\ny\r\nmg a v\r\n"), "HD\r\nVA 1\r\ny\r\n");
  });
}

TEST(MemcachedMeta, a_stale_item_reports_its_uses_as_before_the_command) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\nx\r\n");
    client.send("md a I\r\n");
    client.now_ms += 7'000;
    EXPECT_EQ(client.send("mg a h l\r\nmg a h l\r\n"), "HD h0 l7 X W\r\nHD h1 l0 Z X\r\n");
  });
}

TEST(MemcachedMeta, an_outdated_number_with_I_stores_a_stale_value) {
  for_each_cut([](memcached_session& client) {
    client.space.set_next_unique(70);
    client.send("set a 3 50 1\r\n1\r\n");
    EXPECT_EQ(client.send("ms a 1 C69 I F7 T90 c\r\n2\r\nmg a v t f\r\nmg a\r\n"),
              "HD c71\r\nVA 1 t50 f7 X W\r\n2\r\nHD Z X\r\n");
    EXPECT_EQ(client.send("ms a 1 C99 I\r\n3\r\nms a 1 C69 I MA\r\n3\r\nms a 1 C69 I MR\r\n4\r\n"),
              "EX\r\nEX\r\nHD\r\n");
    EXPECT_EQ(client.send("mg a v c\r\n"), "VA 1 c72 Z X\r\n4\r\n");
    EXPECT_EQ(client.send("ms a 1 C72 I\r\n5\r\nmg a v\r\n"), "HD\r\nVA 1\r\n5\r\n");
  });
}

TEST(MemcachedMeta, a_number_that_keeps_its_length_keeps_its_marks) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\n8\r\nmd a I\r\n");
    EXPECT_EQ(client.send("incr a 1\r\nmg a\r\nincr a 1\r\nmg a h\r\n"),
              "9\r\nHD X W\r\n10\r\nHD h0\r\n");
  });
}

TEST(MemcachedMeta, ma_counts_and_creates) {
  for_each_cut([](memcached_session& client) {
    client.space.set_next_unique(70);
    EXPECT_EQ(client.send("ma n\r\nma n J13 v\r\nma n N30 J13 v t c\r\nma n v t c k O1\r\n"),
              "NF\r\nNF\r\nVA 2 t30 c70\r\n13\r\nVA 2 t30 c71 kn O1\r\n14\r\n");
    EXPECT_EQ(
        client.send("ma n D5 v\r\nma n MD D9 v\r\nma n M- v\r\nma n M+ D0 v\r\nma n MI v\r\n"),
        "VA 2\r\n19\r\nVA 2\r\n10\r\nVA 1\r\n9\r\nVA 1\r\n9\r\nVA 2\r\n10\r\n");
    EXPECT_EQ(client.send("ma n MD D99 v T99 t\r\nmg n v t\r\n"),
              "VA 1 t99\r\n0\r\nVA 2 t99\r\n0 \r\n");
    EXPECT_EQ(client.send("ma n C1\r\nma n C0 q\r\nma n q v\r\nma m N0 q\r\n"), "EX\r\nHD\r\n");
    EXPECT_EQ(client.send("set x 0 0 1\r\nx\r\nma x C9\r\n"), "STORED\r\nEX\r\n");
    EXPECT_EQ(client.send("set x 0 0 0\r\n\r\nma x C9\r\n"),
              "STORED\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
  });
}

TEST(MemcachedMeta, me_describes_an_item) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 100 3\r\nabc\r\n");
    client.now_ms += 4'000;
    EXPECT_EQ(client.send("me b bx\r\nme b b\r\n"),
              "EN\r\nCLIENT_ERROR bad command line format\r\n");
    EXPECT_EQ(client.send("me a\r\nme b\r\n"),
              "ME a exp=96 la=4 cas=1 fetch=no cls=1 size=63\r\nEN\r\n");
    client.send("get a\r\n");
    EXPECT_EQ(client.send("me a\r\n"), "ME a exp=96 la=0 cas=1 fetch=yes cls=1 size=63\r\n");
  });
}

TEST(MemcachedMeta, an_mg_of_an_item_that_stays_changes_nothing) {
  memcached_session client;
  client.send("set a 0 30 1\r\nx\r\n");
  const token last = client.space.last_token();
  client.send("mg a v N30 R10 t\r\nmg a\r\nmg b\r\n");
  EXPECT_EQ(client.space.last_token(), last);
  EXPECT_EQ(client.send("mg a R40\r\n"), "HD W\r\n");
  EXPECT_EQ(client.space.last_token(), last + 1);
}

}  // namespace
}  // namespace outlast::server
