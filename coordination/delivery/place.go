package delivery

import "github.com/pronto-lab/openclawd/coordination"

// To directs a delivery to a place or thread as a configuration names it. An id of Discord does not tell which of both it is: the thread
// is its own place then.
func (d *Delivery) To(id string) {
	d.Channel, d.ChannelID, d.ThreadID = coordination.OtherChannel(id), id, ""
	if at, _ := coordination.ParseChatID(id); d.Channel != "" && at.Thread != "" {
		d.ChannelID, d.ThreadID = coordination.ChatID{Channel: at.Channel, Chat: at.Chat}.String(), id
	}
}
