// Package search finds events by their words. What it needs for that lies in a file of its own, which a cursor feeds from the log and
// which can be thrown away at any time: an answer says up to which event it reaches.
//
// # What is searched
//
// The message, reply preview, title, label, description, summary and reason of an event, secrets masked; the agents that it comes from
// and goes to, its type, and its taskId, workSessionId and conversationId. Of each the first 256 KiB.
//
// # When a word is found
//
// A text is read in Unicode NFC, without regard to case and to the width of Latin letters. It is taken apart into pieces: a run of Hangul, Han and Kana is one piece, a
// run of any other letters and digits is another (after 64 characters the next one begins); everything else (space, punctuation, emoji)
// only separates. Invisible format characters are passed over. So "배포 v2를 task_ab12로" has the pieces 배포, v2, 를,
// task, ab12, 로.
//
// A word of a query is taken apart in the same way, and is found where its pieces follow one another in one text:
//
//   - A single piece of Hangul, Han or Kana is found anywhere within a piece: 리뷰 in 코드리뷰를, 실패 in 실패했습니다, 뷰 in 리뷰.
//   - A single piece of other letters and digits is found where a piece begins with it: deploy in deployment, not in redeploy.
//   - Of several pieces the first must end a piece (Hangul, Han, Kana) or be one (others), those between must be whole pieces, and the
//     last must begin one: ws_fx_cat finds ws_fx_cat_01, main.go finds cmd/main.go.
//
// All words of a query must be found in an event, each in any of its texts. Words in "quotes" are one word of several pieces. A word
// after a - must not be found. There is no other syntax.
//
// # How
//
// FTS5 indexes tokens that are made here: of a run of Hangul, Han and Kana each character with the one after it, and the last one alone.
// Any part of a run is then a phrase of tokens, a single character the beginning of one. Filters are tokens too, in a private alphabet
// that no text can hold, so that counting and paging happen within the index.
package search
