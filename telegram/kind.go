package telegram

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// kinds are the contents of messages besides texts and files.
type kinds struct {
	Poll      *pollShape      `json:"poll"`
	Location  *locationShape  `json:"location"`
	Venue     *venueShape     `json:"venue"`
	Contact   *contactShape   `json:"contact"`
	Dice      *diceShape      `json:"dice"`
	Game      *titleShape     `json:"game"`
	Invoice   *titleShape     `json:"invoice"`
	Checklist *checklistShape `json:"checklist"`

	other   string // name of a content that is not known here; ""
	service bool   // the message is Telegram's own
}

type pollShape struct {
	Question string      `json:"question"`
	Options  []textShape `json:"options"`
}

type textShape struct {
	Text string `json:"text"`
}

type locationShape struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type venueShape struct {
	Title    string        `json:"title"`
	Address  string        `json:"address"`
	Location locationShape `json:"location"`
}

type contactShape struct {
	Phone     string `json:"phone_number"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

type diceShape struct {
	Emoji string `json:"emoji"`
	Value int    `json:"value"`
}

type titleShape struct {
	Title string `json:"title"`
}

type checklistShape struct {
	Title string      `json:"title"`
	Tasks []textShape `json:"tasks"`
}

// about are the members of a message that say something about it, and those that are read here. Any other is a content,
// or makes the message Telegram's own.
var about = set(`message_id message_thread_id direct_messages_topic from sender_chat sender_boost_count sender_business_bot sender_tag date
 guest_query_id business_connection_id chat forward_origin forward_from forward_from_chat forward_from_message_id forward_signature forward_sender_name
 forward_date is_topic_message is_automatic_forward reply_to_message external_reply quote reply_to_story reply_to_checklist_task_id via_bot edit_date
 has_protected_content is_from_offline is_paid_post media_group_id author_signature paid_star_count text entities link_preview_options
 suggested_post_info effect_id caption caption_entities show_caption_above_media has_media_spoiler reply_markup animation photo document voice audio
 video video_note sticker poll location venue contact dice game invoice checklist`)

// services are the members of Telegram's own messages.
var services = set(`new_chat_members new_chat_member new_chat_participant left_chat_member left_chat_participant new_chat_title new_chat_photo
 delete_chat_photo group_chat_created supergroup_chat_created channel_chat_created message_auto_delete_timer_changed migrate_to_chat_id
 migrate_from_chat_id pinned_message successful_payment refunded_payment users_shared user_shared chat_shared connected_website write_access_allowed
 passport_data proximity_alert_triggered boost_added chat_background_set chat_owner_left chat_owner_changed checklist_tasks_done checklist_tasks_added
 direct_message_price_changed forum_topic_created forum_topic_edited forum_topic_closed forum_topic_reopened general_forum_topic_hidden
 general_forum_topic_unhidden giveaway_created giveaway_completed paid_message_price_changed suggested_post_approved suggested_post_approval_failed
 suggested_post_declined suggested_post_paid suggested_post_refunded video_chat_scheduled video_chat_started video_chat_ended
 video_chat_participants_invited voice_chat_scheduled voice_chat_started voice_chat_ended voice_chat_participants_invited web_app_data gift
 unique_gift gift_upgrade_sent`)

func set(names string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(names) {
		all[name] = true
	}
	return all
}

// UnmarshalJSON reads a message, and what it has that is not known here.
func (m *messageShape) UnmarshalJSON(data []byte) error {
	type plain messageShape // without this method
	if err := json.Unmarshal(data, (*plain)(m)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	var others []string
	for name := range members {
		switch {
		case services[name]:
			m.service = true
		case !about[name]:
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		m.other = slices.Min(others)
	}
	return nil
}

// Limits of what is shown of a message.
const (
	maxShownText = 500 // characters of one part
	maxParts     = 20  // options, or tasks
)

var memberName = regexp.MustCompile(`^[a-z0-9_]{1,60}$`)

// shown says what a message has besides its text and files; "" is nothing.
func (m *messageShape) shown() string {
	k := &m.kinds
	switch {
	case k.Poll != nil:
		return "[poll: " + part(k.Poll.Question) + list(k.Poll.Options) + "]"
	case k.Venue != nil:
		return fmt.Sprintf("[place: %s, %s (%s)]", part(k.Venue.Title), part(k.Venue.Address), k.Venue.Location.point())
	case k.Location != nil:
		return "[location: " + k.Location.point() + "]"
	case k.Contact != nil:
		return "[contact: " + part(strings.TrimSpace(k.Contact.FirstName+" "+k.Contact.LastName)) + ", " + part(k.Contact.Phone) + "]"
	case k.Dice != nil:
		return fmt.Sprintf("[dice: %s %d]", part(k.Dice.Emoji), k.Dice.Value)
	case k.Game != nil:
		return "[game: " + part(k.Game.Title) + "]"
	case k.Invoice != nil:
		return "[invoice: " + part(k.Invoice.Title) + "]"
	case k.Checklist != nil:
		return "[checklist: " + part(k.Checklist.Title) + list(k.Checklist.Tasks) + "]"
	case m.Sticker != nil:
		return strings.TrimSpace("[sticker "+part(m.Sticker.Emoji)) + "]"
	}
	if text, _ := m.said(); text != "" || len(m.files()) > 0 || m.service {
		return ""
	}
	if memberName.MatchString(k.other) {
		return "[a message that openclawd cannot show: " + k.other + "]"
	}
	return "[a message that openclawd cannot show]"
}

func (l *locationShape) point() string { return fmt.Sprintf("%.6f, %.6f", l.Latitude, l.Longitude) }

// part is a text of someone as a part of a line.
func part(text string) string {
	return harmless(coordination.Head(strings.Join(strings.Fields(text), " "), maxShownText))
}

// list shows options or tasks.
func list(of []textShape) string {
	var all []string
	for i, one := range of {
		if i == maxParts {
			all = append(all, fmt.Sprintf("%d more", len(of)-i))
			break
		}
		all = append(all, part(one.Text))
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, " / ") + ")"
}
