"""Mistakes in the template. Each is made, and some check must notice.

The first 18 are what linters are known to let pass. cfn-lint, asked about each of them here after the
transform, sees two: the first, and the deleted inbox (since only one of its two policies is gone).
"""

# (what is wrong, text to find once, what stands there instead); or a list of such replacements.
PASSED_BY_LINTERS = [
    (
        "visibility below the function's timeout",
        "      VisibilityTimeout: 360\n      # 4 days",
        "      VisibilityTimeout: 30\n      # 4 days",
    ),
    (
        "no ReportBatchItemFailures",
        "            # Without it one event's error brings all ten back.\n            FunctionResponseTypes: [ReportBatchItemFailures]\n",
        "",
    ),
    (
        "no redrive policy",
        "      RedrivePolicy:\n        deadLetterTargetArn: !GetAtt EventFifoDlq.Arn\n        # The most that SQS takes. A rate limit uses up receives too, and an event that got another\n        # message would lose its place in its group.\n        maxReceiveCount: 1000\n",
        "",
    ),
    (
        "a message is received once",
        "        maxReceiveCount: 100\n\n  EventDlq:",
        "        maxReceiveCount: 1\n\n  EventDlq:",
    ),
    (
        "the dead-letter queue keeps shorter than its queue",
        "      MessageRetentionPeriod: 1209600\n      SqsManagedSseEnabled: true\n      RedriveAllowPolicy:\n        redrivePermission: byQueue\n        sourceQueueArns:\n          - !Sub 'arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${AWS::StackName}-events'\n",
        "      MessageRetentionPeriod: 86400\n      SqsManagedSseEnabled: true\n      RedriveAllowPolicy:\n        redrivePermission: byQueue\n        sourceQueueArns:\n          - !Sub 'arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${AWS::StackName}-events'\n",
    ),
    (
        "a queue without the TLS policy",
        "        - !Ref EventFifoQueue\n        - !Ref EventFifoDlq\n",
        "        - !Ref EventFifoDlq\n",
    ),
    (
        "a schedule without a name of its own",
        "      Name: !Sub '${AWS::StackName}-sweep'\n      Description: One sweep",
        "      Name: sweep\n      Description: One sweep",
    ),
    (
        "more concurrency than is reserved",
        "      Timeout: 60\n",
        "      Timeout: 60\n      ReservedConcurrentExecutions: 5\n",
    ),
    (
        "a secret parameter in the environment",
        "          BUSINESS_TABLE: !Ref BusinessTable\n",
        "          BUSINESS_TABLE: !Ref BusinessTable\n          KUDOS_SECRET: !Ref KudosSigningSecret\n",
    ),
    (
        "a literal secret in the environment",
        "          BUSINESS_TABLE: !Ref BusinessTable\n",
        "          BUSINESS_TABLE: !Ref BusinessTable\n          KUDOS_SECRET: whsec_c2VjcmV0\n",
    ),
    (
        "the ingress may not send",
        "                Action: [sqs:GetQueueAttributes, sqs:SendMessage]\n                Resource:\n                  - !GetAtt EventQueue.Arn\n                  - !GetAtt EventFifoQueue.Arn\n              # Also",
        "                Action: [sqs:GetQueueAttributes]\n                Resource:\n                  - !GetAtt EventQueue.Arn\n                  - !GetAtt EventFifoQueue.Arn\n              # Also",
    ),
    ("the processor may not receive", "                  - sqs:ReceiveMessage\n", ""),
    (
        "all of DynamoDB is allowed",
        "                  - dynamodb:BatchGetItem\n                  - dynamodb:GetItem\n                  - dynamodb:UpdateItem\n",
        "                  - dynamodb:*\n",
    ),
    (
        "DynamoDB is allowed on everything",
        "                Action: dynamodb:Query\n                Resource: !Sub '${InboxTable.Arn}/index/due'\n",
        "                Action: dynamodb:Query\n                Resource: '*'\n",
    ),
    ("the dashboard is no JSON", '          "start": "-PT24H",\n', '          "start": "-PT24H"\n'),
    (
        "a misspelt metric in an alarm",
        "      MetricName: SweepSucceeded\n",
        "      MetricName: SweepSucceded\n",
    ),
    (
        "the inbox is deleted with the stack",
        "    DeletionPolicy: RetainExceptOnCreate\n    UpdateReplacePolicy: Retain\n    Properties:\n      # Webhooks come",
        "    UpdateReplacePolicy: Retain\n    Properties:\n      # Webhooks come",
    ),
    (
        "the API waits for 31 seconds",
        "      TimeoutInMillis: 6000\n",
        "      TimeoutInMillis: 31000\n",
    ),
]

MORE = [
    (
        "the sort key of the business table is called otherwise",
        [
            (
                "        - AttributeName: sk\n          AttributeType: S\n",
                "        - AttributeName: sort\n          AttributeType: S\n",
            ),
            (
                "        - AttributeName: sk\n          KeyType: RANGE\n",
                "        - AttributeName: sort\n          KeyType: RANGE\n",
            ),
        ],
    ),
    ("the index does not show what the sweeper reads", "              - received_at\n", ""),
    ("the index has another name", "        - IndexName: due\n", "        - IndexName: due_at\n"),
    (
        "TTL on another attribute",
        "        AttributeName: expires_at\n",
        "        AttributeName: expire_at\n",
    ),
    ("TTL is off", "        Enabled: true\n", "        Enabled: false\n"),
    (
        "the FIFO queue swallows what is sent again",
        "      DeduplicationScope: messageGroup\n      FifoThroughputLimit: perMessageGroupId\n      VisibilityTimeout",
        "      ContentBasedDeduplication: true\n      DeduplicationScope: messageGroup\n      FifoThroughputLimit: perMessageGroupId\n      VisibilityTimeout",
    ),
    (
        "the dead-letter queues are exchanged",
        "        deadLetterTargetArn: !GetAtt EventDlq.Arn\n",
        "        deadLetterTargetArn: !GetAtt SweeperDlq.Arn\n",
    ),
    ("the processor's timeout exceeds a lease", "      Timeout: 60\n", "      Timeout: 90\n"),
    ("the ingress outlives the API's patience", "      Timeout: 5\n", "      Timeout: 7\n"),
    (
        "a misspelt variable",
        "        FIFO_QUEUE_URL: !Ref EventFifoQueue\n",
        "        QUEUE_URL_FIFO: !Ref EventFifoQueue\n",
    ),
    (
        "two variables are exchanged",
        [
            (
                "        QUEUE_URL: !Ref EventQueue\n        FIFO_QUEUE_URL: !Ref EventFifoQueue\n",
                "        QUEUE_URL: !Ref EventFifoQueue\n        FIFO_QUEUE_URL: !Ref EventQueue\n",
            )
        ],
    ),
    ("another binary", "        Binary: sweeper\n", "        Binary: sweep\n"),
    (
        "Lambda may drop the metrics",
        "    AllowedValues: [TRACE, DEBUG, INFO]\n",
        "    AllowedValues: [DEBUG, INFO, WARN]\n",
    ),
    (
        "a log group for ever",
        "      LogGroupName: !Sub '/aws/lambda/${AWS::StackName}-sweeper'\n      RetentionInDays: !Ref LogRetentionDays\n",
        "      LogGroupName: !Sub '/aws/lambda/${AWS::StackName}-sweeper'\n",
    ),
    (
        "a filter on the queue",
        "            # Without it one event's error",
        '            FilterCriteria: {Filters: [{Pattern: \'{"body":{"source":["kudos"]}}\'}]}\n            # Without it one event\'s error',
    ),
    (
        "larger batches than the code is made for",
        "            Queue: !GetAtt EventQueue.Arn\n            BatchSize: 10\n",
        "            Queue: !GetAtt EventQueue.Arn\n            BatchSize: 100\n            MaximumBatchingWindowInSeconds: 1\n",
    ),
    (
        "a concurrency that Lambda refuses",
        "    MinValue: 2\n    MaxValue: 1000\n",
        "    MinValue: 1\n    MaxValue: 1000\n",
    ),
    (
        "nothing bounds the processor on the ordered queue",
        "            FunctionResponseTypes: [ReportBatchItemFailures]\n            ScalingConfig:\n              MaximumConcurrency: !Ref ProcessorConcurrency\n\n",
        "            FunctionResponseTypes: [ReportBatchItemFailures]\n\n",
    ),
    ("payload 1.0", "      PayloadFormatVersion: '2.0'\n", "      PayloadFormatVersion: '1.0'\n"),
    (
        "a route that the code does not answer",
        "      RouteKey: POST /webhooks/{source}\n",
        "      RouteKey: POST /hooks/{source}\n",
    ),
    ("every API may call the ingress", "${IngressApi}/*/POST/webhooks/*'", "*/*/POST/webhooks/*'"),
    (
        "failed sweeps are repeated",
        "        MaximumRetryAttempts: 0\n        MaximumEventAgeInSeconds: 60\n",
        "        MaximumRetryAttempts: 2\n        MaximumEventAgeInSeconds: 60\n",
    ),
    (
        "a sweep every five minutes",
        "      ScheduleExpression: rate(1 minute)\n",
        "      ScheduleExpression: rate(5 minutes)\n",
    ),
    (
        "the ingress may read API credentials",
        "                Effect: Deny\n                Action: secretsmanager",
        "                Effect: Allow\n                Action: secretsmanager",
    ),
    (
        "the processor may write any row",
        "                  - dynamodb:UpdateItem\n                Resource: !GetAtt InboxTable.Arn\n              # What a trans",
        "                  - dynamodb:UpdateItem\n                  - dynamodb:PutItem\n                Resource: !GetAtt InboxTable.Arn\n              # What a trans",
    ),
    (
        "a secret's form changes",
        '      SecretString: !Sub \'{"secrets":["${KudosSigningSecret}"]}\'\n',
        '      SecretString: !Sub \'{"secrets": ["${KudosSigningSecret}"]}\'\n',
    ),
    (
        "a secret parameter with a default",
        "  KallglotSigningSecret:\n    Type: String\n",
        "  KallglotSigningSecret:\n    Type: String\n    Default: change-me\n",
    ),
    (
        "a secret parameter that is shown",
        "  ApieraSigningSecret:\n    Type: String\n    NoEcho: true\n",
        "  ApieraSigningSecret:\n    Type: String\n",
    ),
    (
        "API credentials where no handler looks",
        "      Name: !Sub '${AWS::StackName}/apiera/api'\n",
        "      Name: !Sub '${AWS::StackName}/apiera-api'\n",
    ),
    (
        "API credentials without a field that the handler reads",
        ',"organization":"${ApieraOrganization}"}\'\n',
        "}'\n",
    ),
    (
        "an API credential with a default",
        "  ApieraClientId:\n    Type: String\n",
        "  ApieraClientId:\n    Type: String\n    Default: nobody\n",
    ),
    (
        "an API credential that is shown",
        "  ApieraClientSecret:\n    Type: String\n    NoEcho: true\n",
        "  ApieraClientSecret:\n    Type: String\n",
    ),
    (
        "an alarm on another stack's inbox",
        '            SELECT SUM(EndpointDisabled) FROM SCHEMA("WebhookInbox", "inbox", "source")\n            WHERE "inbox" = \'${InboxTable}\' GROUP',
        '            SELECT SUM(EndpointDisabled) FROM SCHEMA("WebhookInbox", "inbox", "source")\n            GROUP',
    ),
    (
        "a query of several series without an order, which CloudWatch does not take for an alarm",
        'GROUP BY "source", "event_type" ORDER BY SUM() DESC\n',
        'GROUP BY "source", "event_type"\n',
    ),
    (
        "a query that looks at the healthiest series first",
        'GROUP BY "source" ORDER BY AVG() DESC\n',
        'GROUP BY "source" ORDER BY AVG() ASC\n',
    ),
    (
        "a query with a reserved word",
        'GROUP BY "source" ORDER BY AVG() DESC\n',
        "GROUP BY source ORDER BY AVG() DESC\n",
    ),
    (
        "a query without a period",
        "        - Id: faults\n          Period: 300\n",
        "        - Id: faults\n",
    ),
    (
        "an alarm under dimensions that nobody emits",
        'FROM SCHEMA("WebhookInbox", "inbox", "source", "event_type")',
        'FROM SCHEMA("WebhookInbox", "inbox", "event_type")',
    ),
    (
        "a source whose silence nobody hears",
        "              Dimensions: [{Name: inbox, Value: !Ref InboxTable}, {Name: source, Value: apiera}]\n            Period: 3600",
        "              Dimensions: [{Name: inbox, Value: !Ref InboxTable}, {Name: source, Value: kudos}]\n            Period: 3600",
    ),
    (
        "a stranger's request breaks the silence",
        "              MetricName: Authentic\n              Dimensions: [{Name: inbox, Value: !Ref InboxTable}, {Name: source, Value: kudos}]\n",
        "              MetricName: Received\n              Dimensions: [{Name: inbox, Value: !Ref InboxTable}, {Name: source, Value: kudos}]\n",
    ),
    (
        "a silence that CloudWatch does not look back for",
        "    # A week: CloudWatch looks back no further.\n    MaxValue: 168\n",
        "    # A week: CloudWatch looks back no further.\n    MaxValue: 720\n",
    ),
    (
        "faults page only where there is traffic",
        "      EvaluationPeriods: 12\n      DatapointsToAlarm: 3\n",
        "      EvaluationPeriods: 4\n      DatapointsToAlarm: 3\n",
    ),
    (
        "nobody hears of one id with two bodies",
        "            SELECT SUM(BodyMismatch) FROM",
        "            SELECT SUM(IdMismatch) FROM",
    ),
    (
        "a sweep that is missing is noticed when older ones are forgotten",
        "          Expression: FILL(sweeps, 0)\n",
        "          Expression: sweeps\n",
    ),
    (
        "a dead letter that is told of late is filled over",
        "          Expression: SUM([standard, ordered])\n",
        "          Expression: FILL(standard, 0) + FILL(ordered, 0)\n",
    ),
    (
        "a variable that only REST APIs know",
        '"error":"$context.error.message"',
        '"requestBytes":"$context.requestLength","error":"$context.error.message"',
    ),
    (
        "no value is taken for a good sweep",
        "      TreatMissingData: breaching\n\n  # An hour is more",
        "      TreatMissingData: notBreaching\n\n  # An hour is more",
    ),
    (
        "an alarm without a section in the runbook",
        "      AlarmName: !Sub '${AWS::StackName}-slow-answers'\n",
        "      AlarmName: !Sub '${AWS::StackName}-slow'\n",
    ),
    (
        "a misspelt metric on the dashboard",
        'MetricName=\\"SendFailed\\"',
        'MetricName=\\"SendFailure\\"',
    ),
    (
        "the unfinished alarm fires on ordinary repetitions",
        "      Threshold: 3600\n",
        "      Threshold: 1800\n",
    ),
    (
        "another retention than the code's",
        "    Default: 30\n    MinValue: 1\n    MaxValue: 3650\n",
        "    Default: 7\n    MinValue: 1\n    MaxValue: 3650\n",
    ),
    (
        "a source without an address in the outputs",
        "${IngressApi.ApiEndpoint}/webhooks/apiera",
        "${IngressApi.ApiEndpoint}/webhooks/apiera2",
    ),
    (
        "a parameter that samconfig.toml sets is gone",
        "  DeletionProtection:\n    Type: String\n",
        "  DeletionGuard:\n    Type: String\n",
    ),
    ("a parameter in no group", "[Architecture, LogLevel]", "[Architecture]"),
    (
        "an alias that hides changed parameters",
        "      Description: Verifies a webhook, stores it and answers.\n",
        "      Description: Verifies a webhook, stores it and answers.\n      AutoPublishAlias: live\n",
    ),
]


def apply(text, replacements):
    """The template with the mistake in it. A mistake that no longer fits anywhere is an error."""
    for old, new in replacements:
        if text.count(old) != 1:
            found = f"stands {text.count(old)} times in template.yaml, must be once"
            raise SystemExit(f"{old!r} {found}: correct infra/check.d/mutants.py")
        text = text.replace(old, new)
    return text


def all_of_them():
    """(name, replacements), those that no linter sees first."""
    for name, *rest in PASSED_BY_LINTERS + MORE:
        yield name, rest[0] if isinstance(rest[0], list) else [tuple(rest)]
