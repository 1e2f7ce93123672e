package coordination

// Context is the part of every event's data that locates it. Producers set what they know and always EventRole; zero members are omitted
// from the JSON.
type Context struct {
	WorkSessionID         string `json:"workSessionId,omitempty"`
	PreviousWorkSessionID string `json:"previousWorkSessionId,omitempty"`
	TaskID                string `json:"taskId,omitempty"`
	RootTaskID            string `json:"rootTaskId,omitempty"`
	ConversationID        string `json:"conversationId,omitempty"`
	ParentConversationID  string `json:"parentConversationId,omitempty"`
	ParentRunID           string `json:"parentRunId,omitempty"`
	RootRunID             string `json:"rootRunId,omitempty"` // the first run of the chain of causes; "" is the run itself
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
