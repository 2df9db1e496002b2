"""The curator's service: questions from people who may not see the table.

Whatever all analysts, the front and a thief of the mailboxes learn together is a function of releases that the population's
ledger paid for, of public declarations, and of who asked what when.

Three processes. The *front* listens: it checks and prices questions (``question``) from the schema alone and puts them into
the inbox; it can open no table and no ledger. The *desk* listens to nobody: it takes rows from the inbox, which it trusts in
nothing, has them paid and answered at public moments (``schedule``), and puts answers, signed, into the outbox. The *hand*
is the desk's child and the only one that looks: pay, look, speak.

===============  ==========================================================================================
``config``       the file ``serve.toml``
``limits``       what a question may weigh
``closed``       JSON that anyone may have sent, read or refused
``question``     a question: parsed, checked against a schema, priced, with its digest
``kinds``        the kinds of question, each a procedure of the library
``tokens``       what analysts prove themselves with
``signing``      what answers are signed with
``boxes``        the two mailboxes: one writer each
``inbox``        what the front writes and the desk reads
``outbox``       what the desk writes and the front reads
``grants``       an analyst's share of a budget: a reservation in the ledger
``schedule``     when a question is answered
``hand``         the child of the desk that pays and looks
``desk``         from the inbox to the outbox
===============  ==========================================================================================
"""
