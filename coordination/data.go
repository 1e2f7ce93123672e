package coordination

// Context is what the data of any event may say about where it belongs. Producers fill in what they know and always
// EventRole; blank members are left out of the JSON.
type Context struct {
	WorkSessionID         string `json:"workSessionId,omitempty"`
	PreviousWorkSessionID string `json:"previousWorkSessionId,omitempty"`
	TaskID                string `json:"taskId,omitempty"`
	RootTaskID            string `json:"rootTaskId,omitempty"`
	ConversationID        string `json:"conversationId,omitempty"`
	ParentConversationID  string `json:"parentConversationId,omitempty"`
	ParentRunID           string `json:"parentRunId,omitempty"`
	RootRunID             string `json:"rootRunId,omitempty"` // the run with which the chain of causes began; "" is the run itself
	Depth                 *int   `json:"depth,omitempty"`     // nil is not 0: a depth marks delegation
	Hop                   *int   `json:"hop,omitempty"`
	TopicID               string `json:"topicId,omitempty"`

	EventRole       Role        `json:"eventRole,omitempty"`
	FromSessionType SessionType `json:"fromSessionType,omitempty"`
	ToSessionType   SessionType `json:"toSessionType,omitempty"`

	CollabCategory         Category `json:"collabCategory,omitempty"`
	CollabSubTags          []string `json:"collabSubTags,omitempty"`
	CollabIntent           string   `json:"collabIntent,omitempty"`
	CategoryConfidence     *float64 `json:"categoryConfidence,omitempty"`
	CategorySource         Source   `json:"categorySource,omitempty"`
	CategoryVersion        string   `json:"categoryVersion,omitempty"`
	CategoryManualOverride bool     `json:"categoryManualOverride,omitempty"`
}
